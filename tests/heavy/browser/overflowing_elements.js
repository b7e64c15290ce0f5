() => [...document.querySelectorAll('.gradio-container *')]
    .filter(element => element.checkVisibility({opacityProperty: true, visibilityProperty: true}))
    .map(element => [element, element.getBoundingClientRect()])
    .filter(([_, box]) => box.width > 1 && box.height > 1)
    .filter(([_, box]) => box.right > innerWidth + 1 || box.left < -1)
    .map(([element, box]) =>
        `${element.tagName} ${element.id} ${element.textContent.slice(0, 40)} ${box.right}`)
