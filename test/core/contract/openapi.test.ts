import { expect, test } from 'vitest'
import { z } from 'zod'
import { admin, empty, endpoint, file, open, openApiDocument } from '../../../src/core/contract/index.ts'

const contract = {
  pause: endpoint({
    method: 'POST',
    path: '/rollouts/:id/pause',
    auth: admin('operator'),
    params: z.object({ id: z.string() }),
    query: z.strictObject({ dry: z.stringbool().optional() }),
    body: z.strictObject({ reason: z.string().min(3) }),
    returns: z.object({ status: z.enum(['paused']) }),
    problems: ['INVALID_TRANSITION'],
    summary: 'Pause',
    spec: '4.6',
  }),
  forget: endpoint({
    method: 'DELETE',
    path: '/rollouts/:id/pause',
    auth: admin('operator'),
    params: z.object({ id: z.string() }),
    returns: empty,
    summary: 'Forget',
  }),
}

type Operation = {
  parameters: { name: string; in: string; required: boolean }[]
  requestBody: { content: { 'application/json': { schema: { required: string[] } } } }
  responses: Record<string, unknown>
  operationId: string
}
const document = openApiDocument({ rollouts: contract }, { title: 'Test', version: '1' }) as {
  openapi: string
  paths: Record<string, Record<string, Operation>>
}
const pause = document.paths['/rollouts/{id}/pause']?.post as Operation

test('a path has all its methods', () => {
  expect(Object.keys(document.paths['/rollouts/{id}/pause'] ?? {})).toEqual(['post', 'delete'])
})

test('parameters and body come from the schemas', () => {
  expect(pause.parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual([
    ['id', 'path', true],
    ['dry', 'query', false],
  ])
  expect(pause.requestBody.content['application/json'].schema.required).toEqual(['reason'])
})

test('each possible failure is declared by status', () => {
  expect(Object.keys(pause.responses)).toEqual(['200', '400', '401', '403', '404', '409', '413', '415', '429', '500', '503'])
})

test('a response with an ETag documents If-None-Match', () => {
  const shape = endpoint({ method: 'GET', path: '/it', auth: open, returns: z.object({ n: z.int() }), tagged: true, summary: 'It' })
  const { paths } = openApiDocument({ room: { it: shape } }, { title: 'Test', version: '1' }) as typeof document
  const { parameters, responses } = (paths['/it'] as Record<string, Operation>).get as Operation
  expect(parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual([['If-None-Match', 'header', false]])
  expect(Object.keys(responses).slice(0, 2)).toEqual(['200', '304'])
  expect(responses['200']).toHaveProperty('headers.ETag')
})

test('a file endpoint documents ranges and partial responses', () => {
  const shape = endpoint({ method: 'GET', path: '/it', auth: open, returns: file, summary: 'It' })
  const { paths } = openApiDocument({ room: { it: shape } }, { title: 'Test', version: '1' }) as typeof document
  const { parameters, responses } = (paths['/it'] as Record<string, Operation>).get as Operation
  expect(parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual([
    ['If-None-Match', 'header', false],
    ['Range', 'header', false],
    ['If-Range', 'header', false],
  ])
  expect(Object.keys(responses)).toEqual(['200', '206', '304', '416', '429', '500', '503'])
  expect(responses['200']).not.toHaveProperty('headers.Content-Range')
  for (const status of ['206', '416']) expect(responses[status]).toHaveProperty('headers.Content-Range')
})

test.each([
  ['at least three characters without the space at its ends', z.string().trim().min(3), ['abc', ' a c '], ['u\u00af\u00a0', '  a ', '   ']],
  ['at least one', z.string().trim().min(1), ['a', ' a '], ['', ' \t\n', '\ufeff']],
])('a text that is trimmed has %s, in the document as in the check', (_, text, good, bad) => {
  const post = endpoint({
    ...{ method: 'POST', path: '/notes', auth: admin('operator'), summary: 'Note', returns: empty },
    body: z.strictObject({ text }),
  })
  const { paths } = openApiDocument({ notes: { post } }, { title: 'Test', version: '1' }) as {
    paths: Record<
      string,
      Record<string, { requestBody: { content: Record<string, { schema: { properties: { text: { pattern: string } } } }> } }>
    >
  }
  const pattern = paths['/notes']?.post?.requestBody.content['application/json']?.schema.properties.text.pattern ?? 'none'
  for (const one of good) expect([new RegExp(pattern).test(one), text.safeParse(one).success]).toEqual([true, true])
  for (const one of bad) expect([new RegExp(pattern).test(one), text.safeParse(one).success]).toEqual([false, false])
})
