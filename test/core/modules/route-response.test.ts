import { expect, test } from 'vitest'
import { ModuleResponse, routeResponse } from '../../../src/core/modules/index.ts'

const sent = ({ body, ...head }: Readonly<{ body: unknown; status?: number; headers?: object }>) =>
  routeResponse(ModuleResponse.parse(head), JSON.stringify(body))

test.each([
  ['application/json', true],
  ['text/plain; charset=utf-8', true],
  ['text/csv', true],
  ['image/png', true],
  ['image/svg+xml', false],
  ['text/html', false],
  ['application/xhtml+xml', false],
  ['text/plain, text/html', false],
  ['TEXT/HTML', false],
])('%s is shown: %s', (type, isShown) => {
  const { headers } = sent({ headers: { 'content-type': type }, body: '<script>1</script>' })
  expect(headers['content-type']).toBe(isShown ? type : 'application/octet-stream')
  expect(headers['content-disposition']).toBe(isShown ? undefined : 'attachment')
})

test('other headers are dropped, and the policy cannot be replaced', () => {
  const headers = {
    ...{ 'set-cookie': 'svc_jwt=x', location: 'https://evil.example', 'access-control-allow-origin': '*', 'content-security-policy': '' },
    ...{ 'x-content-type-options': 'x', 'transfer-encoding': 'chunked', 'x-module-': 'no name', 'x-module-page': '2', etag: '"1"' },
    ...{ 'cache-control': 'private\r\nset-cookie: a=b', 'x-module-text': 'ü' },
  }
  expect(sent({ status: 201, headers, body: { n: 1 } })).toEqual({
    status: 201,
    headers: {
      ...{ 'cache-control': 'no-store', 'x-module-page': '2', etag: '"1"', 'content-type': 'application/json' },
      ...{ 'x-content-type-options': 'nosniff', 'content-security-policy': "sandbox; default-src 'none'" },
    },
    body: '{"n":1}',
  })
})

test('a body that is a text is sent as it is, and quoted only as JSON', () => {
  expect(sent({ body: '"a"' })).toMatchObject({ headers: { 'content-type': 'text/plain; charset=utf-8' }, body: '"a"' })
  expect(sent({ headers: { 'content-type': 'application/json' }, body: 'a' }).body).toBe('"a"')
  expect(routeResponse({ status: 200, headers: {} })).toMatchObject({ headers: { 'content-type': 'application/json' }, body: 'null' })
})

test('an answer without content has none', () => {
  expect(sent({ status: 204, body: { n: 1 } }).body).toBe('')
})
