import { expect, test, vi } from 'vitest'
import { aRunningDaemon } from '../../support/running-daemon.ts'

let loaded = 0
vi.mock('../../../src/node/otlp.ts', () => {
  loaded += 1
  return { openTracing: () => undefined }
})

test('the exporter is loaded only where a collector is set', async () => {
  await (await aRunningDaemon()).close()
  expect(loaded).toBe(0)
  await (await aRunningDaemon({ env: { TENANTRY_TRACING_ENDPOINT: 'http://127.0.0.1:4318' } })).close()
  expect(loaded).toBe(1)
})

test('a wrong collector is refused with the name of the setting', async () => {
  const wrong = aRunningDaemon({ env: { TENANTRY_TRACING_ENDPOINT: 'grpc://collector:4317' } })
  await expect(wrong).rejects.toThrow('tracing.endpoint must be the address of an OTLP/HTTP collector')
})
