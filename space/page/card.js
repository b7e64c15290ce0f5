// Actions of the card and of the events, which compare_tab.py names.
const rows = 'button[data-metric]', card = () => document.getElementById('score');
window.infolm = {
    copy(event) {
        const button = event.target.closest('button.copy');
        if (!button) return;
        const code = button.parentElement.querySelector('pre');
        navigator.clipboard.writeText(button.matches('.link') ? location.href : code.textContent);
        button.textContent = 'Copied';
    },
    texts: values => JSON.stringify(values.slice(0, 6)),
    // Replaces the metric by the pressed row, and the snapshot by the texts.
    send([metric, ...values]) {
        const pressed = card().querySelector(`${rows}[aria-pressed=true]`);
        values.pop();
        return [pressed?.dataset.metric ?? metric, ...values, infolm.texts(values)];
    },
    load(values) {
        infolm.note(values);
        return location.hash;
    },
    // Counts changes of settings. Gradio also reports input when a drop-down list loses the focus.
    changes(values) {
        if (infolm.noted !== JSON.stringify(values)) infolm.count = (infolm.count ?? 0) + 1;
        infolm.noted = JSON.stringify(values);
        return `${infolm.count ?? ''}`;
    },
    note(values) {
        infolm.noted = JSON.stringify(values.slice(6));
    },
    // Keeps the texts and settings in the fragment of the address, which browsers do not send.
    keep(names, values) {
        infolm.note(values);
        const entries = names.map((name, i) => [name, JSON.stringify(values[i])])
            .filter(([_, value]) => value !== '""' && value !== 'null');
        history.replaceState(null, '', '#' + new URLSearchParams(entries));
    },
    restore(names, values) {
        const kept = new URLSearchParams(location.hash.slice(1));
        return names.map((name, i) => {
            try {
                return kept.has(name) ? JSON.parse(kept.get(name)) : i < 6 ? '' : values[i];
            } catch {
                return values[i];
            }
        });
    },
    press() {
        document.getElementById('compare').click();
        return [];
    },
    // On a phone, the card is below the texts.
    scroll() {
        if (innerWidth < 768) card().scrollIntoView({behavior: 'smooth'});
        return [];
    },
};
// Explains the row that is pressed now, unless the texts were refused.
infolm.explain = () => card().querySelector(rows) && trigger('click');
element.addEventListener('click', event => {
    infolm.copy(event);
    const row = event.target.closest(rows);
    if (!row) return;
    element.querySelectorAll(rows).forEach(x => x.setAttribute('aria-pressed', x === row));
    trigger('click');
    const why = document.getElementById('why');
    if (event.isTrusted && why.getBoundingClientRect().top > innerHeight - 160) {
        document.getElementById('settings').scrollIntoView({behavior: 'smooth'});
    }
});
