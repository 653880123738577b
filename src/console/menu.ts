type Page = Readonly<{ path: string; nav?: Readonly<{ label: string; shortcut?: string }> }>
type InMenu<One extends Page> = One & Readonly<{ nav: NonNullable<One['nav']>; letter: string }>

/** Every page of the menu with the letter that opens it after `g`: the declared one, or the first letter of its label that is free. */
export function menuOf<One extends Page>(pages: readonly One[]): readonly InMenu<One>[] {
  const taken = new Set(pages.flatMap(({ nav }) => nav?.shortcut ?? []))
  return pages.flatMap((page) => {
    const { nav } = page
    if (!nav) return []
    const letter = nav.shortcut ?? [...nav.label.toLowerCase(), ...alphabet].find((one) => alphabet.includes(one) && !taken.has(one)) ?? ''
    taken.add(letter)
    return [{ ...page, nav, letter } as InMenu<One>]
  })
}

/** Without `g`: pressed twice it begins again. */
const alphabet = 'abcdefhijklmnopqrstuvwxyz'
