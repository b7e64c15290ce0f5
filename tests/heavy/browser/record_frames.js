() => {
    window.frames_ = [];
    const record = () => {
        const why = document.querySelector('#why'), box = why.getBoundingClientRect();
        const verdict = document.querySelector('#score .verdict') !== null;
        frames_.push([why.classList.contains('blank'), verdict, box.top + scrollY, box.height]);
        requestAnimationFrame(record);
    };
    record();
}
