/** The languages in which people of a school are addressed. */
export type Language = 'de' | 'en'

/** German for German locales, English for all others. */
export const languageOf = (locale: string | null): Language => (/^de\b/i.test(locale ?? '') ? 'de' : 'en')
