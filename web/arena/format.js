/** Numbers as people read them. */

const MINUS = "\u2212";

/** Formats a number with a fixed count of digits; a dash if there is none. */
export function formatNumber(value, digits = 2) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** Formats a number with its sign. */
export function formatSigned(value, digits = 2) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value < 0 ? MINUS : "+") + text;
}

/** Formats a share from 0 to 1 in percent. */
export function formatShare(share) {
  if (typeof share !== "number" || !Number.isFinite(share)) return "–";
  return `${Math.round(100 * share)}\u202f%`;
}

/** References below this are mostly rounding and noise, so ratios to them are meaningless. */
const REFERENCE_MIN = 0.02;

/** Formats the relative difference to a reference; null if it is meaningless. */
export function formatChange(value, reference) {
  if (typeof value !== "number" || typeof reference !== "number" || reference < REFERENCE_MIN) return null;
  const ratio = value / reference;
  if (ratio >= 10) return `${ratio.toFixed(0)} times`;
  return `${formatSigned((ratio - 1) * 100, 0)} %`;
}

/** Formats a budget such as "33.333%". */
export function formatBudget(budget) {
  const [, part] = /^([\d.]+)\s*%$/.exec(budget) ?? [];
  return part === undefined ? String(budget) : `${Math.round(10 * part) / 10}\u202f%`;
}
