/** Changes to elements, made only where they change something. */

/** Sets a text if it has changed, to avoid needless layout. It reuses the text node, so that no garbage accumulates. */
export function setText(element, text) {
  const { firstChild: node, lastChild } = element;
  if (node === null || node !== lastChild || node.nodeType !== Node.TEXT_NODE) element.textContent = text;
  else if (node.data !== text) node.data = text;
}

/** Sets an attribute if it has changed: setting the same value would repaint a drawing. */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Sets or removes a class if that changes anything. */
export function setClass(element, name, isOn) {
  if (element.classList.contains(name) !== isOn) element.classList.toggle(name, isOn);
}
