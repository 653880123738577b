/** WCAG 2.2: what text needs against what is behind it. */
export const minContrast = 4.5

/** A colour as `#rrggbb`. */
type Color = string

const channels = (color: Color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)

function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map(linear)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** From 1 to 21, rounded down to a tenth, so that a value below the minimum never reads as enough. */
export function contrast(one: Color, other: Color): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return Math.floor(((light + 0.05) / (dark + 0.05)) * 10) / 10
}

const [black, white] = ['#000000', '#ffffff'] as const

/** Text on a surface of this colour: the one of black and white that is easier to read. One of them has at least 4.5. */
export const textOn = (color: Color): typeof black | typeof white => (contrast(color, black) >= contrast(color, white) ? black : white)
