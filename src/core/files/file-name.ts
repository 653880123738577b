import { z } from 'zod'

const mostBytes = 255
const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** Control characters, and those that turn the direction of what follows: `fdp.exe` would read as `exe.pdf`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unseen = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu

/** How people call a file. Several of a space may have the same: their ids tell them apart. */
export const FileName = z
  .string()
  .max(1000)
  .transform((name) => name.normalize('NFC').trim())
  .refine((name) => name !== '' && name !== '.' && name !== '..', 'must be a name')
  .refine((name) => bytesOf(name) <= mostBytes, `must have ${mostBytes} bytes at most`)
  .refine((name) => name.search(unseen) === -1, 'must not contain control characters')
  .refine((name) => !/[/\\]/.test(name), 'must not contain slashes')

/** A name from what a program sent along with a file: any text becomes one that can be kept, and its ending stays. */
export function fileNameOf(sent: string): string {
  const last = sent.slice(0, 10_000).split(/[/\\]/).at(-1) ?? ''
  const seen = last.replace(unseen, '').normalize('NFC').trim()
  if (seen === '' || seen === '.' || seen === '..') return 'file'
  if (bytesOf(seen) <= mostBytes) return seen
  const [ending = ''] = /\.[A-Za-z0-9]{1,10}$/.exec(seen) ?? []
  return `${cut(seen.slice(0, seen.length - ending.length), mostBytes - ending.length).trimEnd()}${ending}`
}

/** No longer in bytes, and no character halved. */
function cut(text: string, most: number): string {
  let [kept, bytes] = ['', 0]
  for (const character of text) {
    bytes += bytesOf(character)
    if (bytes > most) break
    kept += character
  }
  return kept
}
