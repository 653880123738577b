import { ar } from './ar.ts'
import { de } from './de.ts'
import { en, type TextKey, type Texts } from './en.ts'
import { durationText, timeText } from './format.ts'
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

/** In which direction it is read. A mail of text alone needs none: each line goes by its first letter. */
export const directionOf = (language: TextLanguage): 'ltr' | 'rtl' => (language === 'ar' ? 'rtl' : 'ltr')

/** The catalogue for a user's locale (`tr-TR`, `fr_CA`); English for one that has none, and without a locale. */
export function textLanguageOf(locale: string | null): TextLanguage {
  const [language = ''] = (locale ?? '').toLowerCase().split(/[-_]/)
  return Object.hasOwn(catalogues, language) ? (language as TextLanguage) : 'en'
}

/** A text with its placeholders filled. Values are one line each: a text goes into subjects too. */
export const textIn = (language: TextLanguage, key: TextKey, values: Readonly<Record<string, string>> = {}): string =>
  catalogues[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => values[name]?.replace(/\s+/g, ' ') ?? whole)

/** A time, or the time between two, in the words of the language and by that clock. */
export const timeIn = (language: TextLanguage, time: Parameters<typeof timeText>[1]): string => timeText(formats[language], time)

export const durationIn = (language: TextLanguage, ms: number): string => durationText(formats[language], ms)
