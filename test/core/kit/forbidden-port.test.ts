import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { forbiddenPort } from '../../../src/core/kit/index.ts'

const { badPorts } = createRequire(import.meta.url)('undici/lib/web/fetch/constants.js') as { badPorts: readonly string[] }

test('a port is forbidden exactly if fetch refuses it', () => {
  const told = Array.from({ length: 65_535 }, (_, at) => String(at + 1)).filter((port) => forbiddenPort(new URL(`http://[::1]:${port}`)))
  expect(told).toEqual(badPorts.toSorted((a, b) => Number(a) - Number(b)))
  expect(forbiddenPort(new URL('https://hooks.example/a'))).toBeUndefined()
})

test('this Node.js refuses them too', async () => {
  for (const port of badPorts) await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ cause: { message: 'bad port' } })
})
