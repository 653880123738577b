import { expect, test } from 'vitest'
import { z } from 'zod'
import { api } from '../../../src/core/api.ts'
import { TimeInput } from '../../../src/core/contract/index.ts'

test.each([
  ['2026-11-27T09:00:00+01:00', '2026-11-27T08:00:00.000Z'],
  ['2026-11-27T08:00:00Z', '2026-11-27T08:00:00.000Z'],
  ['2026-11-27T08:00:00.123456789Z', '2026-11-27T08:00:00.123Z'],
  ['2026-11-27T02:15:00-05:45', '2026-11-27T08:00:00.000Z'],
])('%s is read as %s', (input, stored) => expect(TimeInput.parse(input)).toBe(stored))

test.each([
  '2026-11-27T09:00:00',
  '2026-02-30T09:00:00Z',
  '0000-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
  'tomorrow',
  '2026-11-27',
])('%s is refused', (input) => expect(TimeInput.safeParse(input).success).toBe(false))

type Node = Readonly<{ format?: string; pattern?: string; [key: string]: unknown }>

const timesIn = (path: string, node: unknown): { path: string; pattern: string }[] => {
  if (typeof node !== 'object' || node === null) return []
  const { format, pattern = '.*' } = node as Node
  const own = format === 'date-time' ? [{ path, pattern }] : []
  return [...own, ...Object.entries(node).flatMap(([key, inner]) => timesIn(`${path}.${key}`, inner))]
}

test('every time in a request of the API may have an offset', () => {
  const times = Object.values(api)
    .flatMap((contract) => Object.entries(contract))
    .filter(([, { auth }]) => auth.kind !== 'agent')
    .flatMap(([name, endpoint]) =>
      (['body', 'query', 'params'] as const).flatMap((part) => {
        const schema: unknown = (endpoint as Readonly<Record<string, unknown>>)[part]
        return schema instanceof z.ZodType
          ? timesIn(`${name}.${part}`, z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
          : []
      }),
    )
  expect(times.length).toBeGreaterThan(7)
  expect(times.filter(({ pattern }) => !new RegExp(pattern).test('2026-11-27T09:00:00+01:00')).map(({ path }) => path)).toEqual([])
})
