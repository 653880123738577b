import { z } from 'zod'

const Counted = z.object({ count: z.int(), bytes: z.int() })

/** What the files of a tenant take, as its quota counts them. */
export const FileUse = z.object({
  usedBytes: z.int().meta({ description: 'What the quota is held against: the sum of all that follows' }),
  quotaBytes: z.int().meta({ description: 'What its plan lets it keep' }),
  kept: Counted,
  deleted: Counted.meta({ description: 'They take their space until they are erased' }),
  underWay: Counted.meta({ description: 'What is set aside for uploads' }),
  largestSpaces: z
    .array(Counted.extend({ id: z.string(), name: z.string() }))
    .meta({ description: 'The five whose files take most, deleted ones with them' }),
})
export type FileUse = z.infer<typeof FileUse>

/** Files of one space in one state. */
export type UseOfSpace = Readonly<{ spaceId: string; as: 'kept' | 'deleted' | 'underWay'; count: number; bytes: number }>

const most = 5
const sumOf = (some: readonly UseOfSpace[]) => ({
  count: some.reduce((sum, { count }) => sum + count, 0),
  bytes: some.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** Sums, and the spaces that take most; those of one size by id. */
export function sumUp(uses: readonly UseOfSpace[]) {
  const bySpace = new Map<string, UseOfSpace[]>()
  for (const one of uses) bySpace.set(one.spaceId, [...(bySpace.get(one.spaceId) ?? []), one])
  const spaces = [...bySpace].map(([id, some]) => ({ id, ...sumOf(some) }))
  const of = (as: UseOfSpace['as']) => sumOf(uses.filter((one) => one.as === as))
  return {
    kept: of('kept'),
    deleted: of('deleted'),
    underWay: of('underWay'),
    largestSpaces: spaces.toSorted((a, b) => b.bytes - a.bytes || (a.id < b.id ? -1 : 1)).slice(0, most),
  }
}
