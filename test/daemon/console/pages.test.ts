import { once } from 'node:events'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { consolePages, schoolPages, vendorPages } from '../../../src/daemon/console/index.ts'
import { servedApp } from '../../support/served-app.ts'

async function built() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-console-'))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Tenantry</title>')
  await writeFile(join(folder, 'assets', 'index-abc.js'), 'export {}')
  return folder
}

async function aConsole(folder: string, baseUrl = 'http://127.0.0.1:8440', pages = consolePages) {
  const { url } = await servedApp([], { clock: manualClock(), authenticate: {}, pages: pages(baseUrl, folder) })
  return async (path: string, headers: Record<string, string> = {}) => {
    const call = request(`${url}${path}`, { headers: { connection: 'close', ...headers } }).end()
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    let body = ''
    for await (const chunk of response.setEncoding('utf8')) body += chunk
    return { status: response.statusCode, headers: response.headers, body }
  }
}

test.each([
  ['/console', consolePages],
  ['/school', schoolPages],
  ['/vendor', vendorPages],
] as const)('every address below %s answers its page, in no frame and with nothing from elsewhere', async (base, pages) => {
  const get = await aConsole(await built(), undefined, pages)
  for (const path of [base, `${base}/`, `${base}/boxes/linden?q=x`]) {
    const { status, headers, body } = await get(path)
    expect([status, body]).toEqual([200, expect.stringContaining('Tenantry')])
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' })
  }
})

test('an asset stays in the browser for good; one of an earlier build is missing, not the page', async () => {
  const get = await aConsole(await built())
  expect((await get('/console/assets/index-abc.js')).headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(await get('/console/assets/index-old.js')).toMatchObject({ status: 404, body: expect.stringContaining('reload the page') })
  expect((await get('/console/assets/..%2findex.html')).status).toBe(404)
})

test('another name of the daemon gets no page', async () => {
  const get = await aConsole(await built())
  expect((await get('/console', { host: 'rebound.example' })).status).toBe(403)
  expect((await get('/console', { host: 'localhost:8440' })).status).toBe(200)
})

test('without https it is served on loopback alone, and without a build it says so', async () => {
  expect((await (await aConsole(await built(), 'http://tenantry.example'))('/console')).status).toBe(503)
  expect(await (await aConsole(join(tmpdir(), 'no-console')))('/console')).toMatchObject({
    status: 404,
    body: expect.stringContaining('npm run build'),
  })
})
