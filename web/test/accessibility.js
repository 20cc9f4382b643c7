/**
 * Finds what is too faint to read or use on the page as shown now, by WCAG 2.2, level AA: text needs a contrast of
 * 4.5:1 (3:1 if it is large), parts of controls 3:1. Also checks that the page declares its language and title, and fits
 * the window's width.
 *
 * The background of a text is whatever the browser finds below it at that point, whichever element it belongs to: a
 * highlight that slides under words, or a label over a picture. Text drawn on a canvas cannot be judged; text on top of
 * a canvas is compared with the most common colour below it.
 *
 * It is a single function, so that it can be evaluated in any page. Its argument lists the parts that the browser
 * builds controls from, which pages cannot see: pairs of a control and a part, such as a slider and its thumb. It
 * returns a list of sentences.
 */
((/** @type {[Element, Element][]} */ parts) => {
  /** @typedef {number[]} Colour red, green and blue from 0 to 255, alpha from 0 to 1 */

  const TEXT_MIN = 4.5;
  const LARGE_MIN = 3;
  const PART_MIN = 3;
  /** Tolerance for the rounding of colours to whole numbers. */
  const ROUNDING = 0.005;
  const NAME_MAX = 40;
  /** Bound on the possible backgrounds of one text. */
  const GROUNDS_MAX = 64;
  const CONTROLS = "button, input, select, textarea, summary, [role=button], [role=slider], [role=switch], [role=checkbox]";
  const WORDLESS = /^(checkbox|radio|range|color|file|hidden|image)$/;
  const UNREAD = /^(script|style|noscript|template|title|desc|option)$/i;

  /** Creates a canvas to read from. @param {number} width @param {number} height */
  function canvasOf(width, height) {
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    return /** @type {OffscreenCanvasRenderingContext2D} */ (context);
  }

  const pixel = canvasOf(1, 1);
  /** @type {Map<string, Colour>} */
  const known = new Map();

  /** Parses a CSS colour in any notation. @param {string} css @returns {Colour} */
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

  /**
   * Returns the most common colour of a canvas below a rectangle that overlaps it.
   * @param {HTMLCanvasElement} canvas
   * @param {DOMRect} box
   */
  function commonest(canvas, box) {
    const place = canvas.getBoundingClientRect();
    if (canvas.width * canvas.height === 0) return [0, 0, 0, 0];
    const [left, top] = [Math.max(box.left, place.left), Math.max(box.top, place.top)];
    const width = Math.max(1, Math.ceil(Math.min(box.right, place.right) - left));
    const height = Math.max(1, Math.ceil(Math.min(box.bottom, place.bottom) - top));
    const [across, down] = [canvas.width / place.width, canvas.height / place.height];
    const copy = canvasOf(width, height);
    const from = /** @type {const} */ ([(left - place.left) * across, (top - place.top) * down]);
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

  /**
   * Returns the layers of an element's own background, topmost first; each is a list of possible colours.
   * @param {Element} element
   * @param {DOMRect} box
   */
  function layersOf(element, box) {
    const { backgroundColor, backgroundImage } = getComputedStyle(element);
    const stops = backgroundImage.match(/(?:rgba?|hsla?|oklch|oklab|lab|lch|color)\([^()]*\)/gi) ?? [];
    const drawn = element instanceof HTMLCanvasElement ? [[commonest(element, box)]] : [];
    const painted = [...drawn, ...(stops.length > 0 ? [stops.map(read)] : []), [read(backgroundColor)]];
    const faded = opacity(element);
    return painted.map((colours) => colours.map(([red, green, blue, alpha]) => [red, green, blue, alpha * faded]));
  }

  /**
   * Returns the elements at the middle of a rectangle, from the given one downwards.
   * @param {Element} element
   * @param {DOMRect} box
   */
  function stackAt(element, box) {
    const all = document.elementsFromPoint(...middleOf(box));
    const at = all.findIndex((each) => each.contains(element));
    // The page's own background reaches everywhere.
    return [...new Set([...(at < 0 ? [element] : all.slice(at)), document.body, document.documentElement])];
  }

  /**
   * Returns the opaque colours that may lie below a stack of elements, topmost first.
   * @param {Element[]} stack
   * @param {DOMRect} box
   */
  function grounds(stack, box) {
    const layers = stack.flatMap((each) => layersOf(each, box));
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

  /**
   * Returns the least contrast of an element's colour with its possible backgrounds.
   * @param {string} css
   * @param {Element} element
   * @param {Colour[]} under
   */
  function least(css, element, under) {
    const [red, green, blue, alpha] = read(css);
    const faded = [red, green, blue, alpha * opacity(element)];
    return Math.min(...under.map((ground) => contrast(over(faded, ground), ground)));
  }

  /** @param {DOMRect} box @returns {[number, number]} */
  const middleOf = ({ left, top, width, height }) => [left + width / 2, top + height / 2];

  /**
   * Scrolls an element into the window and measures it.
   * @param {Element} element
   * @param {() => DOMRect | undefined} measure
   */
  function boxOf(element, measure) {
    const [x, y] = middleOf(measure() ?? new DOMRect());
    const isInside = x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    if (!isInside) element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    return measure() ?? new DOMRect();
  }

  /**
   * True if it is visible and enabled. Disabled controls need no contrast.
   * @param {Element} element
   * @param {DOMRect} box
   */
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
    const found = colour === "none" ? Infinity : least(colour, element, grounds(stackAt(element, box), box));
    if (found < needed - ROUNDING) yield `${nameOf(element)}${part ?? ""} has a contrast of ${found.toFixed(2)}, less than ${needed}`;
  }

  function* texts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      if (element === null || !node.nodeValue?.trim() || UNREAD.test(element.localName)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      // One line stands for all.
      const box = boxOf(element, () => range.getClientRects()[0]);
      if (isSeen(element, box)) yield* judgeText(element, box);
    }
    for (const field of document.querySelectorAll("input, textarea, select")) {
      const box = boxOf(field, () => field.getBoundingClientRect());
      if (WORDLESS.test(field.getAttribute("type") ?? "text") || !isSeen(field, box)) continue;
      yield* judgeText(field, box, field.matches(":placeholder-shown") ? "::placeholder" : undefined);
    }
  }

  /** Returns the colours of an element's border and background. @param {Element} element */
  function outlineOf(element) {
    const style = getComputedStyle(element);
    const borders = ["top", "right", "bottom", "left"]
      .filter((side) => parseFloat(style.getPropertyValue(`border-${side}-width`)) > 0)
      .map((side) => style.getPropertyValue(`border-${side}-color`));
    return [style.backgroundColor, ...borders];
  }

  /**
   * Returns the best contrast of any part of a control: its border, background, icon, or the browser's own parts.
   * @param {Element} control
   * @param {DOMRect} box
   */
  function standing(control, box) {
    const icons = [...control.querySelectorAll("svg, svg *")]
      .flatMap((part) => [getComputedStyle(part).fill, getComputedStyle(part).stroke])
      .filter((colour) => colour !== "none" && !colour.startsWith("url"));
    const made = parts.filter(([whole]) => whole === control).flatMap(([, part]) => outlineOf(part));
    const stack = stackAt(control, box);
    const [inside, outside] = [grounds(stack, box), grounds(stack.filter((each) => !control.contains(each)), box)];
    const outer = outlineOf(control).map((colour) => least(colour, control, outside));
    return Math.max(...outer, ...[...icons, ...made].map((colour) => least(colour, control, inside)));
  }

  function* controls() {
    for (const control of document.querySelectorAll(CONTROLS)) {
      const box = boxOf(control, () => control.getBoundingClientRect());
      // Controls with words are judged by them, and those with native appearance are the browser's own.
      const isPlain = control.matches("input, select, textarea") && getComputedStyle(control).appearance !== "none";
      if (isPlain || (control.textContent ?? "").trim() !== "" || !isSeen(control, box)) continue;
      const found = standing(control, box);
      if (found < PART_MIN - ROUNDING) yield `${nameOf(control)} stands out by ${found.toFixed(2)}, less than ${PART_MIN}`;
    }
  }

  function* whole() {
    if (!document.documentElement.lang) yield "the page does not declare its language";
    if (!document.title.trim()) yield "the page has no title";
    if (innerWidth > screen.width + 1) yield `the page is laid out for ${innerWidth} px, the screen has ${screen.width} px`;
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth + 1) yield `the page is ${width} px wide, the window ${innerWidth} px`;
  }

  const place = /** @type {const} */ ([scrollX, scrollY]);
  // Elements that let the pointer through are visible, too.
  const solid = new CSSStyleSheet();
  solid.replaceSync("* { pointer-events: auto !important; }");
  document.adoptedStyleSheets.push(solid);
  const found = [...whole(), ...texts(), ...controls()];
  document.adoptedStyleSheets.pop();
  scrollTo({ left: place[0], top: place[1], behavior: "instant" });
  return found;
})
