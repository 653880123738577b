const maxLength = 80

/** The slug of a name: `Zu- & Abgänge` becomes `zu-abgange`. A name without letters or digits becomes `item`. */
export function slugOf(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss').toLowerCase()
  return trimmed(ascii.replace(/[^a-z0-9]+/g, '-'), maxLength) || 'item'
}

/** The first of `slug`, `slug-2`, `slug-3` … that is not taken, at most 80 characters. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug
  for (let nth = 2; ; nth++) {
    const suffix = `-${nth}`
    const candidate = `${trimmed(slug, maxLength - suffix.length)}${suffix}`
    if (!taken.has(candidate)) return candidate
  }
}

const trimmed = (text: string, length: number): string => text.replace(/^-+/, '').slice(0, length).replace(/-+$/, '')
