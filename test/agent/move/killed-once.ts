import { expect } from 'vitest'
import { mortalAtChange, storeWhileAlive, type When } from '../update/mortal.ts'
import { around, type Deps, type MovingHost } from './a-move.ts'

type Kill = Readonly<{ place: number; when: When }>

/** One life that dies at its `place`-th change of the host, and another; undefined when there was no such place. */
export async function killedOnce<Result>(
  host: MovingHost,
  { place, when }: Kill,
  live: (deps: Deps, signal?: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const life = mortalAtChange(place, when)
  const first = await live(await host.agent(around(life.touch), storeWhileAlive(host.fileStore, life)), life.signal).catch(
    (error: Error) => error,
  )
  if (!life.died()) return undefined
  expect((first as Error).message).toMatch(/killed|dead/)
  return live(await host.agent())
}
