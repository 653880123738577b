import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/node/index.ts'
import { openTracing } from '../../../src/node/otlp.ts'
import { tenantry } from '../../support/command-line.ts'
import { aSimulatedFleet } from '../../support/simulated-fleet.ts'

type Span = { traceId: string; spanId: string; parentSpanId?: string; name: string; service: string; status: { code?: number } }

/** A collector that keeps the spans it gets. */
async function aCollector() {
  const spans: Span[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
        const service = resource.attributes.find(({ key }: { key: string }) => key === 'service.name').value.stringValue
        for (const scope of scopeSpans) spans.push(...scope.spans.map((span: Span) => ({ ...span, service })))
      }
      response.end('{}')
    })
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return { spans, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test('one trace leads from `rollouts create` to the commit of the agent and its report', { timeout: 120_000 }, async () => {
  const { spans, endpoint } = await aCollector()
  const tracing = openTracing({ endpoint, service: 'tenantry-agent', version: '0.0.0', clock: systemClock, onChange: () => undefined })
  const fleet = await aSimulatedFleet({ TENANTRY_TRACING_ENDPOINT: endpoint }, tracing)
  try {
    await fleet.api.boxes.applyManifest({ body: { manifest: fleet.target } })
    const env = { TENANTRY_TOKEN: fleet.token, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
    const line = ['rollouts', 'create', '--target', 'linden', '--start', '--wait', '--json']
    const { exit, stderr } = await tenantry(line, { url: fleet.url, env, clock: systemClock })
    expect({ exit, stderr }).toMatchObject({ exit: 0 })
  } finally {
    await fleet.close()
    await tracing.close()
  }
  const root = spans.find(({ name }) => name === 'tenantry rollouts create') as Span
  const ours = spans.filter(({ traceId }) => traceId === root.traceId)
  const pathOf = (span: Span): string[] => {
    const parent = ours.find(({ spanId }) => spanId === span.parentSpanId)
    return [...(parent ? pathOf(parent) : []), `${span.service}: ${span.name}`]
  }
  const command = [
    'tenantry: tenantry rollouts create',
    'tenantryd: POST /admin/tenant-boxes/rollouts',
    'tenantryd: queue tenant-box.update',
    'tenantry-agent: tenant-box.update',
  ]
  const paths = ours.map(pathOf)
  for (const step of ['prefetch', 'fence', 'snapshot', 'quick-probe', 'commit'])
    expect(paths).toContainEqual([...command, `tenantry-agent: ${step}`])
  expect(paths).toContainEqual([...command, 'tenantryd: POST /api/agent/v1/commands/:id/result'])
  expect(ours.filter(({ name }) => name.endsWith('/progress'))).toEqual([])
  expect(ours.filter(({ spanId, parentSpanId }) => spanId !== root.spanId && !parentSpanId)).toEqual([])
})

test('a collector that is away costs one line, and the end waits a second at most', async () => {
  const lines: string[] = []
  const tracing = openTracing({
    ...{ endpoint: 'http://127.0.0.1:1', service: 'x', version: '0', clock: systemClock, onChange: (line: string) => lines.push(line) },
    fetch: () => Promise.reject(new Error('connect ECONNREFUSED')),
  })
  for (let count = 0; count < 5000; count++) tracing.start({ name: 'x', kind: 'internal' }).end()
  await tracing.close()
  expect(lines).toEqual(['traces are dropped: http://127.0.0.1:1/v1/traces does not accept them (connect ECONNREFUSED)'])
})
