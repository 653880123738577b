import { ar } from './ar.ts'
import { de } from './de.ts'
import { en, type TextKey, type Texts } from './en.ts'
import { fr } from './fr.ts'
import { tr } from './tr.ts'

/** A further language is a file of its own and a line here. */
export const catalogues = { en, de, fr, tr, ar } as const satisfies Readonly<Record<string, Texts>>

export type TextLanguage = keyof typeof catalogues

/** How times and numbers are written. Digits are those that all readers know. */
const formats: Readonly<Record<TextLanguage, string>> = {
  en: 'en-GB',
  de: 'de-DE',
  fr: 'fr-FR',
  tr: 'tr-TR',
  ar: 'ar-u-nu-latn-ca-gregory',
}

/** The catalogue for a user's locale (`tr-TR`, `fr_CA`); English for one that has none, and without a locale. */
export function textLanguageOf(locale: string | null): TextLanguage {
  const [language = ''] = (locale ?? '').toLowerCase().split(/[-_]/)
  return Object.hasOwn(catalogues, language) ? (language as TextLanguage) : 'en'
}

/** A text with its placeholders filled. Values are one line each: a text goes into subjects too. */
export const textIn = (language: TextLanguage, key: TextKey, values: Readonly<Record<string, string>> = {}): string =>
  catalogues[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => values[name]?.replace(/\s+/g, ' ') ?? whole)

/** `Montag, 30. März 2026 um 02:00 (Europe/Berlin)`. */
export function timeIn(language: TextLanguage, iso: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat(formats[language], { timeZone, dateStyle: 'full', timeStyle: 'short' })
  return `${format.format(new Date(iso))} (${timeZone})`
}

/** `40 Sekunden`, `4 Minuten`: seconds up to a minute and a half. */
export function durationIn(language: TextLanguage, ms: number): string {
  const [value, unit] = ms <= 90_000 ? [Math.max(1, Math.round(ms / 1000)), 'second'] : [Math.ceil(ms / 60_000), 'minute']
  return new Intl.NumberFormat(formats[language], { style: 'unit', unit, unitDisplay: 'long' }).format(value)
}
