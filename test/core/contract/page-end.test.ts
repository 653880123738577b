import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pageOf } from '../../../src/core/contract/index.ts'

const idOf = ({ id }: { id: number }) => String(id)
const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id }))

test.each([
  ['no rows', 0, 0, null],
  ['fewer rows than a page', 2, 2, null],
  ['exactly one page', 3, 3, null],
  ['one row more than a page', 4, 3, '2'],
])('%s: the next page is named only if there is one', (_, found, length, nextCursor) => {
  expect(pageOf(rows(found), 3, idOf)).toEqual({ page: rows(length), nextCursor })
})

test('the pages of a list hold each row once, in order', () => {
  fc.assert(
    fc.property(fc.nat(40), fc.integer({ min: 1, max: 12 }), (count, limit) => {
      const seen: { id: number }[] = []
      for (let after: string | null = '-1'; after !== null; ) {
        const last: number = Number(after)
        const found = rows(count).filter(({ id }) => id > last)
        const { page, nextCursor } = pageOf(found.slice(0, limit + 1), limit, idOf)
        seen.push(...page)
        after = nextCursor
      }
      expect(seen).toEqual(rows(count))
    }),
  )
})
