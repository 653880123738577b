import { expect, test } from 'vitest'
import { assertAllowedImage } from '../../../src/agent/boxes/index.ts'

const allowed = ['registry.test:5000/tenantry/*', 'nginx', 'ghcr.io/element-hq/synapse']

test.each([
  'registry.test:5000/tenantry/synapse:v1',
  'registry.test:5000/tenantry/deep/er:v1',
  'nginx:1.27',
  'docker.io/library/nginx:1.27',
  'ghcr.io/element-hq/synapse:v1.163.2',
])('%s is allowed', (image) => {
  expect(() => assertAllowedImage(allowed, image)).not.toThrow()
})

test.each([
  'registry.test:5000/tenantry-evil/synapse:v1',
  'registry.test/tenantry/synapse:v1',
  'registry.test:5000/tenantry:v1',
  'evil.test/registry.test:5000/tenantry/synapse:v1',
  'evil/nginx:1',
  'nginx2:1',
  'ghcr.io/element-hq/synapse-evil:v1',
  'nginx',
  'nginx:1 --privileged',
  'nginx:$(id)',
  'nginx@sha256:0',
  '-v:1',
  '',
])('%j is not', (image) => {
  expect(() => assertAllowedImage(allowed, image)).toThrow(expect.objectContaining({ code: 'IMAGE_NOT_ALLOWED' }))
})

test('an empty list allows nothing', () => {
  expect(() => assertAllowedImage([], 'nginx:1')).toThrow(/is not allowed on this host/)
})
