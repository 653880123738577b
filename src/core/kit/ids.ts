/** Two strings that must not be swapped get two brands. */
export type Branded<Name extends string> = string & { readonly __brand: Name }

/** Random bytes as a capability; `src/node` has the real source, tests a seeded one. */
export type Random = Readonly<{ bytes(count: number): Uint8Array }>

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** `count` characters of Crockford's base 32, lower case, 5 bits each. */
export const randomText = (random: Random, count: number): string => Array.from(random.bytes(count), (byte) => alphabet[byte & 31]).join('')

/** A new id: a readable prefix and 100 random bits, for example `box_8x…`. */
export const newId = <Id extends string = string>(random: Random, prefix: string): Id => `${prefix}_${randomText(random, 20)}` as Id
