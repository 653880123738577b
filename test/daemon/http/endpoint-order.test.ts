import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import { BoxKey, reservedSlugs, Slug } from '../../../src/core/boxes/index.ts'
import { type EndpointShape, empty, endpoint, methods, open } from '../../../src/core/contract/index.ts'
import { HostKey, HostName, hostPathWords } from '../../../src/core/hosts/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { type Served, serve } from '../../../src/daemon/http/index.ts'
import { servedApp } from '../../support/served-app.ts'

const declared: readonly EndpointShape[] = Object.values(api).flatMap((contract): EndpointShape[] => Object.values(contract))
const one = (method: EndpointShape['method'], path: string) => endpoint({ method, path, auth: open, returns: empty, summary: path })

/** What the table says, found the slow way: of all forms that fit, the one with the leftmost word. */
function bySearch(path: string): string[] {
  const parts = path.split('/')
  const fits = (form: string) => {
    const own = form.split('/')
    return own.length === parts.length && own.every((part, n) => part.startsWith(':') || part === parts[n])
  }
  const rank = (form: string) => form.split('/').map((part) => (part.startsWith(':') ? '1' : '0'))
  const forms = declared.map((each) => each.path).filter(fits)
  const first = forms.map((form) => rank(form).join('')).sort()[0]
  return declared
    .filter((each) => forms.includes(each.path) && rank(each.path).join('') === first)
    .flatMap(({ method, anyMethod }) => (anyMethod ? [...methods] : [method]))
}

describe('of the whole interface', () => {
  const words = [...new Set(declared.flatMap(({ path }) => path.split('/').filter((part) => part !== '' && !part.startsWith(':'))))]
  const anyPath = fc
    .constantFrom(...declared)
    .chain(({ path }) =>
      fc.tuple(
        ...path
          .split('/')
          .map((part) => (part.startsWith(':') ? fc.oneof(fc.constantFrom(...words), fc.constant('x!x')) : fc.constant(part))),
      ),
    )

  const start = async () => {
    const served: Served[] = declared.map((shape) => serve(shape as never, () => undefined as never))
    const { url } = await servedApp(served, { authenticate: {}, clock: manualClock() })
    return async (path: string): Promise<string[]> => {
      const response = await fetch(`${url}${path}`, { method: 'OPTIONS' })
      await response.body?.cancel()
      return (
        response.headers
          .get('allow')
          ?.split(', ')
          .filter((method) => method !== 'HEAD') ?? []
      )
    }
  }

  test('a path takes the methods of the one form that says it by the most words', async () => {
    const methodsOf = await start()
    await fc.assert(
      fc.asyncProperty(anyPath, async (parts) => {
        expect(await methodsOf(parts.join('/'))).toEqual(bySearch(parts.join('/')))
      }),
      { numRuns: 200 },
    )
  })

  test('each endpoint takes its own path, and no word of a path is what somebody could be called', async () => {
    const methodsOf = await start()
    for (const shape of declared) expect(await methodsOf(shape.path.replace(/:\w+/g, 'x!x'))).toContain(shape.method)
    const named = declared.filter(({ path, params }) => params && /:\w+$/.test(path) && !/:\w*[iI]d$/.test(path))
    const isWord = (path: string, word: string) => declared.some((other) => other.path === path.replace(/:\w+$/, word))
    const taken = named.flatMap((shape) => words.filter((word) => isWord(shape.path, word)).map((word) => ({ ...shape, word })))
    for (const { path, params, word } of taken)
      expect([path, word, params?.safeParse({ slug: word, name: word, localpart: word }).success]).toEqual([path, word, false])
    expect(taken.map(({ path }) => path)).toContain('/api/admin/v1/boxes/:slug')
  })

  test('the words that no new tenant or host is called are exactly those that stand where a slug or a name can stand', () => {
    const parts = declared.map(({ path }) => path.split('/'))
    const isName = (part: string | undefined) => part?.startsWith(':') ?? false
    const meet = (ones: readonly string[], others: readonly string[]) =>
      ones.length === others.length && ones.every((part, n) => part === others[n] || isName(part) || isName(others[n]))
    const inPlacesOf = (place: string) => {
      const words = parts.flatMap((named) => {
        const at = named.indexOf(place)
        const others = at === -1 ? [] : parts.filter((other) => meet(named, other)).map((other) => String(other[at]))
        return others.filter((part) => !isName(part))
      })
      return [...new Set(words)].sort()
    }
    expect(inPlacesOf(':slug')).toEqual([...reservedSlugs].sort())
    for (const word of reservedSlugs) expect([BoxKey.safeParse(word).success, Slug.safeParse(word).success]).toEqual([false, true])
    expect(inPlacesOf(':name')).toEqual([...hostPathWords].sort())
    for (const word of hostPathWords) expect([HostKey.safeParse(word).success, HostName.safeParse(word).success]).toEqual([false, true])
  })
})

describe('over HTTP', () => {
  const shapes = [one('GET', '/things/:name'), one('DELETE', '/things/:id'), one('POST', '/things/scan'), one('GET', '/things/:name/parts')]
  const start = async () => {
    const served: Served[] = shapes.map((shape) => serve(shape, () => undefined))
    return (await servedApp(served, { authenticate: {}, clock: manualClock() })).url
  }

  test.each([
    ['GET', '/things/scan', 405, 'POST'],
    ['HEAD', '/things/scan', 405, 'POST'],
    ['OPTIONS', '/things/scan', 405, 'POST'],
    ['DELETE', '/THINGS/Scan/', 405, 'POST'],
    ['POST', '/things/scan', 204, null],
    ['GET', '/things/scanned', 204, null],
    ['PUT', '/things/scanned', 405, 'GET, HEAD, DELETE'],
    ['GET', '/things/scan/parts', 204, null],
    ['POST', '/things/scan/parts', 405, 'GET, HEAD'],
    ['GET', '/nothing/scan', 404, null],
  ])('%s %s answers %i, and names what it takes', async (method, path, status, allow) => {
    const response = await fetch(`${await start()}${path}`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([status, allow])
  })
})
