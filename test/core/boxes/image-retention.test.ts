import { expect, test } from 'vitest'
import { unusedImages } from '../../../src/core/boxes/index.ts'

const old = '2026-09-01T00:00:00.000Z'
const anImage = (change: object = {}) => ({
  names: ['registry.test/tenantry/synapse:v1'],
  pulled: true,
  pinned: false,
  used: false,
  namedAt: old as string | null,
  ...change,
})
const goes = (change: object = {}) =>
  unusedImages({
    images: [anImage(change)],
    isOurs: (name) => name.startsWith('registry.test/tenantry/'),
    isReferenced: (name) => name.endsWith(':wanted'),
    before: '2026-10-01T00:00:00.000Z',
  }).length === 1

test('an unused image of ours is deleted after a time', () => {
  expect(goes()).toBe(true)
  expect(goes({ names: [`registry.test/tenantry/synapse@sha256:${'0'.repeat(64)}`] })).toBe(true)
})

test.each([
  ['is pinned', { pinned: true }],
  ['is used by a container', { used: true }],
  ['was named recently', { namedAt: '2026-10-01T00:00:00.000Z' }],
  ['has an unknown age', { namedAt: null }],
  ['cannot be pulled again', { pulled: false }],
  ['is named in a compose file', { names: ['registry.test/tenantry/synapse:v1', 'registry.test/tenantry/synapse:wanted'] }],
  ['has a name of another program', { names: ['registry.test/tenantry/synapse:v1', 'handmade:latest'] }],
  ['belongs to another program', { names: ['handmade:latest'] }],
  ['has no name', { names: [] }],
])('an image that %s stays', (_, change) => {
  expect(goes(change)).toBe(false)
})
