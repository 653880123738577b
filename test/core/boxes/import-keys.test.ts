import { expect, test } from 'vitest'
import { planImport } from '../../../src/core/boxes/index.ts'
import counted from '../../fixtures/homeserver-keys.json' with { type: 'json' }
import { aChat, aConfigFile, aDatabase, anEvidence } from './import-evidence.ts'

// Settings of public configurations of Synapse: how many of them have each one, and what an import does with it.

const head = `# Settings of Synapse at an import
Made by \`npx vitest run test/core/boxes/import-keys.test.ts --update\` from the settings of ${counted.configurations} public
configurations of Synapse (November 2026), and from the rules of the [import](import.md). The share is that of
configurations that have the setting, commented lines aside.

- **same**: the box gets the value. Of \`email\`, \`presence\`, \`password_config\`, \`oembed\` and \`experimental_features\` it
  gets the parts that are data; the plan names the others.
- **template**: the box template has its own value.
- **accept \`name\`**: the plan blocks until \`--drop name\`, if the setting is on.
- **no effect**: the chat server does not know it (a former or misspelt name). The plan names it in a warning.

`

/** Where \`true\` is no value that the setting has when it is on. */
const samples: Readonly<Record<string, unknown>> = {
  listeners: [{ port: 8008, resources: [{ names: ['client', 'federation'] }] }],
  email: { smtp_host: 'mail.example.org' },
  presence: { enabled: true },
  password_config: { policy: {} },
  experimental_features: { msc3266_enabled: true },
  oembed: { disable_default_providers: true },
  saml2_config: { sp_config: {} },
  matrix_authentication_service: { enabled: true },
  federation_domain_whitelist: ['example.org'],
  max_upload_size: '50M',
  ...Object.fromEntries(
    ['start_pushers', 'enable_media_repo', 'send_federation', 'federation_verify_certificates'].map((key) => [key, false]),
  ),
}
const switchedOn = { enable_registration: true, enable_registration_captcha: true, url_preview_enabled: true }

function planOf(key: string) {
  const settings = { server_name: 'linden.test', ...switchedOn, [key]: samples[key] ?? true }
  const chat = aChat({ config: [aConfigFile(settings)], unread: counted.unread, workers: ['linden-worker-1'] })
  return planImport({
    evidence: anEvidence({ chat, database: aDatabase({ remoteMembers: 1 }) }),
    ...{ chatDomain: 'linden.test', versions: { synapse: '1.163.2', postgres: '16.14' }, drop: [] },
  })
}

const onlyIf: Readonly<Record<string, string>> = { federation: ' where rooms have members of other servers', workers: ' where workers run' }

/** Undefined where the import has no rule for it but its name. */
function inTheBox(key: string): string | undefined {
  const { carried, replaced, dropped, blockers, warnings } = planOf(key)
  if (key === 'server_name') return 'same: it must be the name of the registered box'
  if (blockers.some((blocker) => blocker.startsWith(`${key} in `))) return 'blocks the import'
  const mine = dropped.filter(({ origins }) => origins.some((origin) => origin.startsWith(`${key} in `)))
  if (mine.some(({ consequence }) => consequence.includes('runs with its default'))) return undefined
  const accepted = mine.map(({ name }) => name)
  const parts = [
    ...(carried.some(({ kind, name }) => kind !== 'data' && name === key) ? ['same'] : []),
    ...(replaced.some(({ name }) => name === key) ? ['template'] : []),
    ...accepted.map((name) => `accept \`${name}\`${onlyIf[name] ?? ''}`),
    ...(warnings.some((text) => text.includes(`does not know ${key} in`)) ? ['no effect'] : []),
  ]
  return parts.length === 0 ? undefined : parts.join('; ')
}

/** Names of inner settings that stand at the top level in one file each. */
const misplaced = ['default_policy', 'typing']

const keys = Object.entries(counted.keys)

test('every setting of the public configurations has a rule', () => {
  expect(keys.filter(([key]) => inTheBox(key) === undefined).map(([key]) => key)).toEqual(misplaced)
})

test('the page of settings is made from the rules', async () => {
  const rows = keys
    .filter(([, count]) => count / counted.configurations >= 0.05 - 0.001)
    .map(([key, count]) => `| \`${key}\` | ${Math.round((100 * count) / counted.configurations)} % | ${inTheBox(key)} |\n`)
  const table = ['| setting | share | in the box |\n', '|---|--:|---|\n', ...rows].join('')
  await expect(`${head}${table}`).toMatchFileSnapshot('../../../docs/import-settings.md')
})
