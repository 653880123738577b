import { expect, test } from 'vitest'
import { chatHostOf, corsHeaders, wrongNativeOrigin } from '../../../src/core/edge/index.ts'

test.each([
  ['https://chat.rose.example', 'chat.rose.example'],
  ['https://xn--schule-kln-kcb.example', 'xn--schule-kln-kcb.example'],
  ['https://chat.rose.example:443', undefined],
  ['https://chat.rose.example:8448', undefined],
  ['https://chat.rose.example/', undefined],
  ['https://chat.rose.example/x', undefined],
  ['https://chat.rose.example.', undefined],
  ['https://Chat.rose.example', undefined],
  ['HTTPS://chat.rose.example', undefined],
  ['http://chat.rose.example', undefined],
  ['https://a@chat.rose.example', undefined],
  ['https://chat.rose.example, https://evil.example', undefined],
  ['https://chat.rose.example\n', undefined],
  [' https://chat.rose.example', undefined],
  ['https://', undefined],
  ['null', undefined],
  ['*', undefined],
  ['', undefined],
])('the origin %j is the web chat of %j', (origin, host) => {
  expect(chatHostOf(origin)).toBe(host)
})

test.each([
  'capacitor://localhost',
  'ionic://localhost',
  'tauri://localhost',
  'app.school+1://chat',
  'https://localhost',
  'http://localhost',
  'http://localhost:8100',
  'https://app.example:8443',
])('%s is allowed as an app origin', (origin) => {
  expect(wrongNativeOrigin(origin)).toBeUndefined()
})

test.each([
  ['null', 'every page'],
  ['*', 'every page'],
  ['https://*.example', 'as the app sends it'],
  ['https://app.example/', 'without a slash'],
  ['https://app.example/x', 'as the app sends it'],
  ['https://App.example', 'as the app sends it'],
  ['https://a:b@app.example', 'as the app sends it'],
  ['https://app.example:0', 'as the app sends it'],
  ['capacitor:', 'as the app sends it'],
  ['localhost', 'as the app sends it'],
  ['', 'as the app sends it'],
  ['https://a, https://b', 'as the app sends it'],
  ['file://localhost', 'origin null'],
  ['data://x', 'origin null'],
  ['http://app.example', 'begin with http'],
])('%j is refused as an app origin: "%s"', (origin, reason) => {
  expect(wrongNativeOrigin(origin)).toContain(reason)
})

test('no response allows credentials, and no header allows every origin', () => {
  const all = { ...corsHeaders.answer('https://chat.rose.example'), ...corsHeaders.preflight }
  expect(Object.keys(all)).not.toContain('access-control-allow-credentials')
  expect(Object.values(all).join()).not.toContain('*')
})
