// Actions of the card and of the events, which events.py names. The attribute data-metric of the card
// remembers the open metric when the rows are replaced.
const rows = 'button[data-metric]', card = () => document.getElementById('score');
window.infolm = {
    copy(event) {
        const button = event.target.closest('button.copy');
        if (!button) return;
        navigator.clipboard.writeText(button.parentElement.querySelector('pre').textContent);
        button.textContent = 'Copied';
    },
    metric: () => card().dataset.metric,
    // Opens the explanation that was open before if its score is meaningful, or the first that is.
    open() {
        const same = `${rows}[data-metric=${card().dataset.metric}]:not(.none)`;
        const row = [same, `${rows}:not(.none)`, rows].map(x => card().querySelector(x)).find(x => x);
        row?.click();
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
element.addEventListener('click', event => {
    infolm.copy(event);
    const row = event.target.closest(rows);
    if (!row) return;
    element.querySelectorAll(rows).forEach(x => x.setAttribute('aria-pressed', x === row));
    card().dataset.metric = row.dataset.metric;
    trigger('click');
    const why = document.getElementById('why');
    if (event.isTrusted && why.getBoundingClientRect().top > innerHeight - 160) {
        why.scrollIntoView({behavior: 'smooth'});
    }
});
