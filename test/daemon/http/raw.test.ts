import { expect, test } from 'vitest'
import { z } from 'zod'
import { endpoint, open, openApiDocument, raw } from '../../../src/core/contract/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { aSmallApp } from '../../support/small-app.ts'

const shape = endpoint({
  ...{ method: 'POST', anyMethod: true, path: '/proxy/:id', rest: true, auth: open, returns: raw, summary: 'All below' },
  params: z.strictObject({ id: z.string() }),
})
const served = [
  serve(shape, async ({ params, raw: { method, rest, search, readBody } }) => ({
    status: 207,
    headers: { 'content-type': 'text/plain', 'cache-control': 'private' },
    body: [method, params.id, rest, search, String(await readBody(10))].join(' '),
  })),
]

test.each([
  ['GET', '/proxy/one', 'GET one   '],
  ['PUT', '/proxy/one/a%2Fb//c/?x=1', 'PUT one /a%2Fb//c/ ?x=1 '],
  ['DELETE', '/proxy/one/', 'DELETE one /  '],
  ['PATCH', '/proxy/one/x', 'PATCH one /x  '],
])('%s %s reaches the handler as it was sent', async (method, path, expected) => {
  const { url } = await aSmallApp(served)
  const response = await fetch(`${url}${path}`, { method })
  expect(response.status).toBe(207)
  expect(await response.text()).toBe(expected)
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test('a body above the limit of the handler is refused', async () => {
  const { url } = await aSmallApp(served)
  const response = await fetch(`${url}/proxy/one/x`, { method: 'POST', body: 'more than ten' })
  expect(response.status).toBe(413)
  expect(await response.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
})

test('the document names every method and the rest of the path', () => {
  const { paths } = openApiDocument({ proxy: { callAll: shape } }, { title: 't', version: '1' }) as { paths: Record<string, object> }
  expect(Object.keys(paths)).toEqual(['/proxy/{id}/{rest}'])
  expect(Object.keys(paths['/proxy/{id}/{rest}'] ?? {})).toEqual(['get', 'post', 'put', 'patch', 'delete'])
})
