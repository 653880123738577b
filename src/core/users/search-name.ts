/** Of a name; what is behind it is searched for by nobody, and an index takes no more. */
const mostLetters = 200
const accents = /[\u0300-\u036f]/g

/**
 * As names are compared: without capitals and accents, `Özlem` as `ozlem`. By way of capitals, for some small letters share one or have two: `Yıldız`
 * and `YILDIZ`, `Strauß` and `STRAUSS` are one name.
 */
export const folded = (text: string): string =>
  text.normalize('NFKD').replace(accents, '').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')

/** What a user is found and ordered by among the contacts of others: how it is called, then its name in the chat. */
export const searchNameOf = ({ displayName, localpart }: Readonly<{ displayName: string | null; localpart: string }>): string =>
  [displayName ?? localpart, localpart].map((name) => [...folded(name)].slice(0, mostLetters).join('')).join(' ')
