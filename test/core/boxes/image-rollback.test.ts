import { expect, test } from 'vitest'
import { imageRollback } from '../../../src/core/boxes/index.ts'

const proven = { formerSchema: 94, backgroundBefore: ['old'], now: { compatVersion: 84, backgroundUpdates: [] }, changed: ['synapse'] }

test.each<[string, Partial<Parameters<typeof imageRollback>[0]>, string | undefined]>([
  ['nothing is pending', {}, undefined],
  ['an update is pending that the former version was running', { now: { compatVersion: 84, backgroundUpdates: ['old'] } }, undefined],
  ['the schema is as new as the former version', { now: { compatVersion: 94, backgroundUpdates: [] } }, undefined],
  ['the schema is newer', { now: { compatVersion: 95, backgroundUpdates: [] } }, 'from schema 95 on'],
  ['another update is pending', { now: { compatVersion: 84, backgroundUpdates: ['old', 'new'] } }, '1 background update pending.*: new'],
  [
    'only harmless updates are pending',
    { harmlessUpdates: ['index', 'other'], now: { compatVersion: 84, backgroundUpdates: ['index', 'old'] } },
    undefined,
  ],
  [
    'an update is pending beside a harmless one',
    { harmlessUpdates: ['index'], now: { compatVersion: 84, backgroundUpdates: ['index', 'new'] } },
    '1 background update pending.*: new$',
  ],
  ['nothing was known before', { backgroundBefore: null, now: { compatVersion: 84, backgroundUpdates: ['x'] } }, 'background update'],
  ['the daemon does not know the former schema', { formerSchema: undefined }, 'unknown which database schemas'],
  ['the database does not answer', { now: undefined }, 'does not answer'],
  ['the facts are unknown', { now: { compatVersion: null, backgroundUpdates: [] } }, 'unknown'],
  ['MinIO changed', { changed: ['synapse', 'minio'] }, 'MinIO'],
])('%s', (_, change, reason) => {
  const found = imageRollback({ ...proven, ...change })
  expect(found.possible).toBe(reason === undefined)
  if (reason !== undefined) expect(found.reason).toMatch(new RegExp(reason))
})
