import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bearerToken,
  canonicalJson,
  catalogue,
  duration,
  manualClock,
  newId,
  plural,
  printable,
  problem,
  Secret,
  sha256Hex,
  shortDigests,
} from '../../../src/core/kit/index.ts'

describe('problems', () => {
  test('every code has a status that matches its exit code', () => {
    for (const [code, { status, exit }] of Object.entries(catalogue)) {
      expect(status, code).toBeGreaterThanOrEqual(400)
      if (exit === 3) expect(status, code).toBe(404)
      if (exit === 6) expect([401, 429, 502, 503, 507], code).toContain(status)
    }
  })

  test('the body has code, message, retryable and the given details only', () => {
    expect(problem('NOT_FOUND', 'no box nord').toBody()).toEqual({ code: 'NOT_FOUND', message: 'no box nord', retryable: false })
  })
})

test.each([
  ['Bearer a.b-c', 'a.b-c'],
  ['bearer  a', 'a'],
  ['Bearer', undefined],
  ['Bearer a b', undefined],
  ['Bearer\ta', undefined],
  ['Basic a', undefined],
  [undefined, undefined],
])('the token of %j is %j: one or more spaces come before it (RFC 9110)', (authorization, token) => {
  expect(bearerToken(authorization)).toBe(token)
})

describe('canonical JSON', () => {
  test('the order of keys does not matter', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const turned = Object.fromEntries(Object.entries(object).reverse())
        expect(canonicalJson(turned)).toBe(canonicalJson(object))
      }),
    )
  })

  test('it reads back as the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('text is written like JSON, with any characters', () => {
    const ofEachSign = Array.from({ length: 0x3000 }, (_, code) => `a${String.fromCharCode(code)}`)
    const texts = [...ofEachSign, '', '\ud800', '"', '\\', 'a\n', '</script>', '\u2028']
    expect(texts.filter((text) => canonicalJson({ [text]: text }) !== JSON.stringify({ [text]: text }))).toEqual([])
  })

  test('the hash is SHA-256', () => {
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})

test('a secret is readable through reveal() only', () => {
  const hidden = new Secret('hunter2')
  const shown = [String(hidden), `${hidden}`, JSON.stringify({ hidden }), inspect(hidden), inspect({ deep: { hidden } })].join(' ')
  expect(shown).not.toContain('hunter2')
  expect(hidden.reveal()).toBe('hunter2')
})

describe('the manual clock', () => {
  test('sleepers resume in the order of their time, each at its own time', async () => {
    const clock = manualClock()
    const seen: [string, number][] = []
    const sleeper = async (name: string, ms: number) => {
      await clock.sleep(ms)
      seen.push([name, clock.monotonicMs()])
    }
    void sleeper('late', 3000)
    void sleeper('early', 1000)
    await clock.advance(5000)
    expect(seen).toEqual([
      ['early', 1000],
      ['late', 3000],
    ])
    expect(clock.monotonicMs()).toBe(5000)
  })

  test('an aborted sleep ends at once and is removed', async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const slept = clock.sleep(60_000, stop.signal)
    stop.abort()
    await slept
    expect(clock.sleepers()).toBe(0)
  })
})

test('untrusted text is shown without control characters', () => {
  expect(printable('ok\u001b[31mred\u0007\nnext')).toBe('ok\ufffd[31mred\ufffd\nnext')
})

test.each([
  [840, '840 ms'],
  [12_000, '12 s'],
  [200_000, '3 min 20 s'],
  [180_000, '3 min'],
  [7_500_000, '2 h 05 min'],
])('%i ms is shown as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('counts have singular and plural', () => {
  expect([plural(1, 'box', 'boxes'), plural(3, 'box', 'boxes'), plural(0, 'host')]).toEqual(['1 box', '3 boxes', '0 hosts'])
})

test('ids have their prefix and only characters safe in shells and URLs', () => {
  expect(newId({ bytes: (count) => new Uint8Array(count).fill(255) }, 'box')).toMatch(/^box_[0-9a-z]{20}$/)
})

test('a digest in a text is shortened, with any text around it, and nothing else is', () => {
  const [one, other] = ['a1'.repeat(32), '0f'.repeat(32)]
  const text = `it is sha256:${one} and not sha256:${other}: look`
  expect(shortDigests(text)).toBe('it is sha256:a1a1a1a1a1a1 and not sha256:0f0f0f0f0f0f: look')
  expect(shortDigests(shortDigests(text))).toBe(shortDigests(text))
  expect(shortDigests(`manifest ${one}`)).toBe(`manifest ${one}`)
})
