import { z } from 'zod'
import { admin, type Contract, empty, endpoint, open, text } from '../contract/index.ts'

const Readiness = z.object({
  ready: z.boolean(),
  version: z.string(),
  installation: z.string().nullable().meta({ description: 'The name of the installation, `installation.name` in the settings' }),
  /** The server's time, by which a client sees how far its own clock is off. */
  time: z.string(),
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string().optional() })),
})
export type Readiness = z.infer<typeof Readiness>

export const Setting = z.object({
  key: z.string().meta({ description: 'Key in the file: `probe.spacingMs`' }),
  variable: z.string().meta({ description: 'Its environment variable' }),
  value: z.string().nullable().meta({ description: 'The effective value; `[secret]` for a secret; null: not set' }),
  origin: z.enum(['default', 'file', 'environment']),
})
export type Setting = z.infer<typeof Setting>

/** Health, metrics and documentation of the daemon; without data of tenants, but for metrics where the settings have a token for them. */
export const serviceContract = {
  healthz: endpoint({ method: 'GET', path: '/healthz', auth: open, returns: empty, status: 200, summary: 'Liveness: the process runs' }),
  readyz: endpoint({
    method: 'GET',
    path: '/readyz',
    auth: open,
    returns: Readiness,
    problems: ['UNAVAILABLE'],
    summary: 'The daemon can serve: database reachable, not draining; 503 otherwise',
  }),
  metrics: endpoint({
    method: 'GET',
    path: '/metrics',
    auth: open,
    cost: 'metrics',
    perAddress: 2,
    returns: text('text/plain; version=0.0.4; charset=utf-8'),
    problems: ['UNAUTHENTICATED'],
    summary: 'Prometheus metrics; with `metrics.tokenFile` only for its token, and per box and host',
  }),
  listSettings: endpoint({
    method: 'GET',
    path: '/api/admin/v1/settings',
    auth: admin('admin'),
    returns: z.object({ settings: z.array(Setting) }),
    summary: 'List the settings of this daemon with their origin, without secrets (read-only)',
  }),
  openApi: endpoint({
    method: 'GET',
    path: '/openapi.json',
    auth: open,
    cost: 'document',
    perAddress: 5,
    tagged: true,
    returns: z.record(z.string(), z.unknown()),
    summary: 'This API as OpenAPI 3.1',
  }),
  docs: endpoint({
    method: 'GET',
    path: '/docs',
    auth: open,
    cost: 'document',
    perAddress: 5,
    returns: text('text/html; charset=utf-8'),
    summary: 'This API as a web page',
  }),
  docsStyle: endpoint({
    method: 'GET',
    path: '/docs/style.css',
    auth: open,
    returns: text('text/css; charset=utf-8'),
    summary: 'Stylesheet of /docs',
  }),
} satisfies Contract
