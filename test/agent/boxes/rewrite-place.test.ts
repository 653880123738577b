import { expect, test } from 'vitest'
import { rewritePlace } from '../../../src/agent/boxes/index.ts'

const text = `# kept
name: box-oak   # this too
services:
  edge:
    image: r/edge:1.0
    ports:
      - "127.0.0.1:18001:8080"
      - '10.0.0.1:18002:8081' # the platform
      - 127.0.0.1:18003:8082
  synapse: { image: r/synapse:v1.1.1 }
`
const place = {
  project: 'next-oak',
  ports: { public: 1, platform: 2, probe: 3 },
  binds: { public: '0.0.0.0', platform: '10.9.9.9' },
}

test('only the project and the edge’s addresses change, byte for byte', () => {
  expect(rewritePlace(text, place)).toBe(
    text
      .replace('box-oak', 'next-oak')
      .replace('127.0.0.1:18001:', '0.0.0.0:1:')
      .replace('10.0.0.1:18002:', '10.9.9.9:2:')
      .replace('127.0.0.1:18003:', '127.0.0.1:3:'),
  )
})

test('a file without a name gets none', () => {
  expect(rewritePlace(text.replace(/^name.*\n/m, ''), place)).not.toContain('next-oak')
})

test.each([
  ['no ports', text.replace(/ {4}ports:\n( {6}.*\n)+/, '')],
  ['a port without an address', text.replace('"127.0.0.1:18001:8080"', '"18001:8080"')],
  ['another port of the container', text.replace(':8082', ':9000')],
  ['a port from a variable', text.replace('"127.0.0.1:18001:8080"', '"$HOST:18001:8080"')],
  ['a fourth port', text.replace('    ports:\n', '    ports:\n      - "127.0.0.1:18004:8080"\n')],
  ['a long port', text.replace('- 127.0.0.1:18003:8082', '- { target: 8082, published: 18003 }')],
])('an edge with %s is refused', (_, other) => {
  expect(() => rewritePlace(other, place)).toThrow(expect.objectContaining({ code: 'COMPOSE_INVALID' }))
})
