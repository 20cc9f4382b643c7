/**
 * What of the page that is shown now is too faint to be read, by WCAG 2.2, level AA: text at least 4.5 : 1 (3 : 1 if it is large),
 * what shows where a control is 3 : 1. Also whether the page says its language and its title, and fits the window's width.
 *
 * It is one expression, so that it can be put to any page whoever serves it. Its value is a list of sentences. What is drawn on a
 * canvas it cannot judge; text that lies on one is held against the commonest colour beneath it.
 */
(() => {
  /** @typedef {number[]} Colour red, green and blue from 0 to 255, alpha from 0 to 1 */

  const TEXT_MIN = 4.5;
  const LARGE_MIN = 3;
  const PART_MIN = 3;
  /** What rounding of colours to whole numbers may cost. */
  const ROUNDING = 0.005;
  const NAME_MAX = 40;
  /** Backgrounds that may lie beneath a text, if there are several. */
  const GROUNDS_MAX = 64;
  const CONTROLS = "button, input, select, textarea, summary, [role=button], [role=slider], [role=switch], [role=checkbox]";
  const WORDLESS = /^(checkbox|radio|range|color|file|hidden|image)$/;
  const UNREAD = /^(script|style|noscript|template|title|desc|option)$/i;

  /** @param {number} width @param {number} height */
  const canvasOf = (width, height) => new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });

  const pixel = canvasOf(1, 1);
  /** @type {Map<string, Colour>} */
  const known = new Map();

  /** A colour of CSS, whatever its notation is. @param {string} css @returns {Colour} */
  function read(css) {
    const found = known.get(css);
    if (found !== undefined) return found;
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = "transparent";
    pixel.fillStyle = css;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    const colour = [red, green, blue, alpha / 255];
    known.set(css, colour);
    return colour;
  }

  /** @param {Colour} above @param {Colour} below opaque @returns {Colour} */
  const over = (above, below) => [0, 1, 2].map((part) => above[part] * above[3] + below[part] * (1 - above[3])).concat(1);

  /** @param {Colour} colour */
  function luminance(colour) {
    const [red, green, blue] = colour.slice(0, 3).map((part) => {
      const level = part / 255;
      return level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  /** @param {Colour} a @param {Colour} b */
  function contrast(a, b) {
    const [dark, bright] = [luminance(a), luminance(b)].sort((one, other) => one - other);
    return (bright + 0.05) / (dark + 0.05);
  }

  /** The commonest colour of a canvas beneath a rectangle; null if that is not within it. @param {HTMLCanvasElement} canvas @param {DOMRect} box */
  function commonest(canvas, box) {
    const place = canvas.getBoundingClientRect();
    const isAcross = box.left >= place.left - 1 && box.right <= place.right + 1;
    const isDown = box.top >= place.top - 1 && box.bottom <= place.bottom + 1;
    if (!isAcross || !isDown || canvas.width * canvas.height === 0) return null;
    const [width, height] = [Math.ceil(box.width), Math.ceil(box.height)];
    const [across, down] = [canvas.width / place.width, canvas.height / place.height];
    const copy = canvasOf(width, height);
    const from = /** @type {const} */ ([(box.left - place.left) * across, (box.top - place.top) * down]);
    copy.drawImage(canvas, ...from, width * across, height * down, 0, 0, width, height);
    const { data } = copy.getImageData(0, 0, width, height);
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) {
      const colour = data.slice(at, at + 4).join();
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    const [most] = [...counts].sort((a, b) => b[1] - a[1])[0];
    const [red, green, blue, alpha] = most.split(",").map(Number);
    return [red, green, blue, alpha / 255];
  }

  /** The layers of an element's own background, what lies on top first; of each the colours that it may have. @param {Element} element */
  function ownLayers(element) {
    const { backgroundColor, backgroundImage } = getComputedStyle(element);
    const stops = backgroundImage.match(/(?:rgba?|hsla?|oklch|oklab|lab|lch|color)\([^()]*\)/gi) ?? [];
    return [...(stops.length > 0 ? [stops.map(read)] : []), [read(backgroundColor)]];
  }

  /** The layers of canvases that an element was laid over. @param {Element} element @param {DOMRect} box */
  function drawnLayers(element, box) {
    if (getComputedStyle(element).position === "static") return [];
    const canvases = [...(element.parentElement?.children ?? [])].filter((each) => each instanceof HTMLCanvasElement && each !== element);
    return canvases.flatMap((canvas) => {
      const drawn = commonest(/** @type {HTMLCanvasElement} */ (canvas), box);
      return drawn === null ? [] : [[drawn], ...ownLayers(canvas)];
    });
  }

  /** The colours, all opaque, that may be beneath what lies on an element. @param {Element | null} element @param {DOMRect} box */
  function grounds(element, box) {
    const layers = [];
    for (let each = element; each !== null; each = each.parentElement) layers.push(...ownLayers(each), ...drawnLayers(each, box));
    const isDark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    const paper = isDark && matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return layers.reduceRight(
      (under, colours) => under.flatMap((ground) => colours.map((colour) => over(colour, ground))).slice(0, GROUNDS_MAX),
      [paper],
    );
  }

  /** @param {Element} element */
  function opacity(element) {
    let product = 1;
    for (let each = /** @type {Element | null} */ (element); each !== null; each = each.parentElement) {
      product *= Number(getComputedStyle(each).opacity);
    }
    return product;
  }

  /** The least contrast of an element's colour with what may be beneath it. @param {string} css @param {Element} element @param {Colour[]} under */
  function least(css, element, under) {
    const [red, green, blue, alpha] = read(css);
    const faded = [red, green, blue, alpha * opacity(element)];
    return Math.min(...under.map((ground) => contrast(over(faded, ground), ground)));
  }

  /** Whether somebody who looks can see it. What is off need not be seen. @param {Element} element @param {DOMRect} box */
  function isSeen(element, box) {
    const isThere = box.width >= 2 && box.height >= 2 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return isThere && element.closest(":disabled, [aria-disabled=true], [inert]") === null;
  }

  /** @param {Element} element */
  function nameOf(element) {
    const text = (element.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, NAME_MAX);
    return `<${element.localName}${element.id ? `#${element.id}` : ""}>${text ? ` "${text}"` : ""}`;
  }

  /** @param {Element} element @param {DOMRect} box @param {string} [part] */
  function* judgeText(element, box, part) {
    const style = getComputedStyle(element, part);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const needed = isLarge ? LARGE_MIN : TEXT_MIN;
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const found = colour === "none" ? Infinity : least(colour, element, grounds(element, box));
    if (found < needed - ROUNDING) yield `${nameOf(element)}${part ?? ""} has a contrast of ${found.toFixed(2)}, less than ${needed}`;
  }

  function* texts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      if (element === null || !node.nodeValue?.trim() || UNREAD.test(element.localName)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      if (isSeen(element, box)) yield* judgeText(element, box);
    }
    for (const field of document.querySelectorAll("input, textarea, select")) {
      const box = field.getBoundingClientRect();
      if (WORDLESS.test(field.getAttribute("type") ?? "text") || !isSeen(field, box)) continue;
      yield* judgeText(field, box, field.matches(":placeholder-shown") ? "::placeholder" : undefined);
    }
  }

  /** How much some part of a control stands out: its border, its background, or its icon. @param {Element} control @param {DOMRect} box */
  function standing(control, box) {
    const style = getComputedStyle(control);
    const borders = ["top", "right", "bottom", "left"]
      .filter((side) => parseFloat(style.getPropertyValue(`border-${side}-width`)) > 0)
      .map((side) => style.getPropertyValue(`border-${side}-color`));
    const icons = [...control.querySelectorAll("svg, svg *")]
      .flatMap((part) => [getComputedStyle(part).fill, getComputedStyle(part).stroke])
      .filter((colour) => colour !== "none" && !colour.startsWith("url"));
    const [outside, inside] = [grounds(control.parentElement, box), grounds(control, box)];
    const outer = [style.backgroundColor, ...borders].map((colour) => least(colour, control, outside));
    return Math.max(...outer, ...icons.map((colour) => least(colour, control, inside)));
  }

  function* controls() {
    for (const control of document.querySelectorAll(CONTROLS)) {
      const box = control.getBoundingClientRect();
      // One that has words is found by them, and one that looks as the browser draws it is the browser's own.
      const isPlain = control.matches("input, select, textarea") && getComputedStyle(control).appearance !== "none";
      if (isPlain || (control.textContent ?? "").trim() !== "" || !isSeen(control, box)) continue;
      const found = standing(control, box);
      if (found < PART_MIN - ROUNDING) yield `${nameOf(control)} stands out by ${found.toFixed(2)}, less than ${PART_MIN}`;
    }
  }

  function* whole() {
    if (!document.documentElement.lang) yield "the page does not say its language";
    if (!document.title.trim()) yield "the page has no title";
    if (innerWidth > screen.width + 1) yield `the page is laid out for ${innerWidth} px, the screen has ${screen.width} px`;
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth + 1) yield `the page is ${width} px wide, the window ${innerWidth} px`;
  }

  return [...whole(), ...texts(), ...controls()];
})()
