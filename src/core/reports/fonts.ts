/** The parts of the font that is embedded into reports. Together they write the languages of Europe. */
const scripts = ['latin', 'latin-ext', 'greek', 'cyrillic', 'cyrillic-ext'] as const
export type Script = (typeof scripts)[number]

/** Inclusive ranges of code points that each part has; `latin` has the marks that all of them share. */
const ranges: Readonly<Record<Script, readonly (readonly [number, number])[]>> = {
  latin: [
    ...([
      [0x20, 0x7e],
      [0xa0, 0xff],
      [0x131, 0x131],
      [0x152, 0x153],
      [0x2013, 0x2014],
      [0x2018, 0x201a],
      [0x201c, 0x201e],
    ] as const),
    ...([
      [0x2022, 0x2022],
      [0x2026, 0x2026],
      [0x2039, 0x203a],
      [0x20ac, 0x20ac],
      [0x2122, 0x2122],
      [0x2212, 0x2212],
    ] as const),
    [0xfffd, 0xfffd],
  ],
  'latin-ext': [
    [0x100, 0x130],
    [0x132, 0x151],
    [0x154, 0x2ba],
    [0x1e00, 0x1e9f],
    [0x1ef2, 0x1eff],
    [0x20a0, 0x20ab],
    [0x20ad, 0x20c0],
  ],
  greek: [
    [0x370, 0x377],
    [0x37a, 0x37f],
    [0x384, 0x38a],
    [0x38c, 0x38c],
    [0x38e, 0x3a1],
    [0x3a3, 0x3e1],
    [0x3f0, 0x3ff],
  ],
  cyrillic: [
    [0x400, 0x45f],
    [0x490, 0x491],
    [0x4b0, 0x4b1],
    [0x2116, 0x2116],
  ],
  'cyrillic-ext': [
    [0x460, 0x48f],
    [0x492, 0x4af],
    [0x4b2, 0x52f],
  ],
}

const scriptOf = (code: number): Script | undefined =>
  scripts.find((script) => ranges[script].some(([from, to]) => code >= from && code <= to))

const isShared = (code: number): boolean => code === 0x20 || code === 0xa0

/** A run of characters that one part of the font writes. */
export type ScriptRun = Readonly<{ script: Script; text: string }>

/** Splits a text by the part of the font that writes it. A character that no part has becomes `\ufffd`: it is visible that one is missing. */
export function scriptRuns(text: string): ScriptRun[] {
  const runs: { script: Script; text: string }[] = []
  for (const character of text) {
    const code = character.codePointAt(0) as number
    const last = runs.at(-1)
    if (last && isShared(code)) {
      last.text += character
      continue
    }
    const script = scriptOf(code)
    const [of, shown] = script ? [script, character] : (['latin', '\ufffd'] as const)
    if (last?.script === of) last.text += shown
    else runs.push({ script: of, text: shown })
  }
  return runs
}
