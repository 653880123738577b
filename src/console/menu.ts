import type { AdminRole } from '../core/contract/index.ts'
import type { ConsolePage } from './kit/index.ts'

type Nav = NonNullable<ConsolePage['nav']>
type Page = Readonly<{ path: string; nav?: Nav; role?: AdminRole }>
export type MenuEntry = Readonly<{ path: string; nav: Nav; role: AdminRole; letter: string }>

/** Every page of the menu with the letter that opens it after `g`: the declared one, or the first letter of its label that is free. */
export function menuOf(pages: readonly Page[]): readonly MenuEntry[] {
  const taken = new Set(pages.flatMap(({ nav }) => nav?.shortcut ?? []))
  return pages.flatMap(({ path, nav, role = 'viewer' }) => {
    if (!nav) return []
    const letter = nav.shortcut ?? [...nav.label.toLowerCase(), ...alphabet].find((one) => alphabet.includes(one) && !taken.has(one)) ?? ''
    taken.add(letter)
    return [{ path, nav, role, letter }]
  })
}

/** Without `g`: pressed twice it begins again. */
const alphabet = 'abcdefhijklmnopqrstuvwxyz'
