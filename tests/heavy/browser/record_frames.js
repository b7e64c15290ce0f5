() => {
    window.frames_ = [];
    const record = () => {
        const why = document.querySelector('#why'), box = why.getBoundingClientRect();
        const rows = document.querySelectorAll('#score button[data-metric]').length;
        frames_.push([getComputedStyle(why).visibility === 'hidden', rows, box.top + scrollY]);
        requestAnimationFrame(record);
    };
    record();
}
