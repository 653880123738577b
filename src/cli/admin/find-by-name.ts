import { problem } from '../../core/kit/index.ts'

type Named = Readonly<{ id: string; name: string }>

/** People type names, the API takes ids; either is understood. `noun` is where they are listed. */
export function findByName<Thing extends Named>(things: readonly Thing[], given: string, noun: 'accounts' | 'tokens'): Thing {
  const found = things.find(({ id, name }) => id === given || name === given.toLowerCase())
  if (!found) throw problem('NOT_FOUND', `${given} is none of the ${noun}`)
  return found
}
