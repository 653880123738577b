const accents = /[\u0300-\u036f]/g

/**
 * A name without case and accents, for comparison: `Özlem` becomes `ozlem`. The detour over upper case unifies letters with several lower-case
 * forms: `Yıldız` equals `YILDIZ`, `Strauß` equals `STRAUSS`.
 */
export const foldName = (text: string): string =>
  text.normalize('NFKD').replace(accents, '').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')

/** The words of a search, as they are in the search name of a user that they find. */
export const searchWords = (text: string): string[] => foldName(text).split(/\s+/).filter(Boolean)
