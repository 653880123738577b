import { describe, expect, test } from 'vitest'
import {
  type ChatConfigFile,
  type DatabaseEvidence,
  effectiveSettings,
  type ImportEvidence,
  planImport,
} from '../../../src/core/boxes/index.ts'
import { aChat, aConfigFile, aDatabase, aHotCopy, anEvidence, someMedia } from './import-evidence.ts'

const input = { chatDomain: 'linden.test', versions: { synapse: '1.163.2', postgres: '16.14' }, drop: [] as string[] }
const planOf = (evidence: Partial<ImportEvidence>, drop: string[] = []) => planImport({ ...input, evidence: anEvidence(evidence), drop })
const configured = (settings: Record<string, unknown>, ...others: ChatConfigFile[]) => ({
  chat: aChat({ config: [aConfigFile({ server_name: 'linden.test', ...settings }), ...others] }),
})

test('an ordinary stack can be imported, and the plan has no value of a setting', () => {
  const plan = planOf({})
  expect(plan).toMatchObject({
    ready: true,
    blockers: [],
    dropped: [],
    found: { serverName: 'linden.test', database: { name: 'synapse' } },
  })
  expect(plan.carried.map(({ name }) => name)).toEqual(['database', 'media', 'objects', 'signing key', 'macaroon_secret_key'])
  expect(plan.carried.at(-1)).toEqual({ kind: 'secret', name: 'macaroon_secret_key', origin: '/data/homeserver.yaml:2' })
  expect(JSON.stringify(plan)).not.toContain('top secret')
})

describe('settings of several files', () => {
  const first = aConfigFile({ server_name: 'a.test', retention: { enabled: true, default_policy: { max_lifetime: '1y' } } })
  const second = aConfigFile({ retention: { enabled: false } }, { path: '/data/conf.d/b.yaml' })

  test('a later file replaces a key of the top level as a whole', () => {
    const merged = effectiveSettings([first, second])
    expect(merged.get('retention')).toMatchObject({ value: { enabled: false }, file: '/data/conf.d/b.yaml', line: 1 })
    expect(merged.get('retention')?.overrides).toEqual([{ key: 'retention', file: '/data/homeserver.yaml', line: 2 }])
    expect(merged.get('server_name')?.overrides).toEqual([])
  })

  test('the plan names what has no effect, and a file that is ignored', () => {
    const ignored = aConfigFile({}, { path: '/data/empty.yaml', problem: 'it is empty or no map of settings' })
    const { warnings, ready } = planOf({
      chat: aChat({ config: [aConfigFile({ server_name: 'linden.test', retention: {} }), second, ignored] }),
    })
    expect(ready).toBe(true)
    expect(warnings).toEqual([
      '/data/empty.yaml has no effect: it is empty or no map of settings',
      'retention in /data/homeserver.yaml:2 has no effect: /data/conf.d/b.yaml:1 replaces it',
    ])
  })

  test('a file that is named twice replaces nothing', () => {
    expect(effectiveSettings([first, first]).get('retention')?.overrides).toEqual([])
    expect(effectiveSettings([first, second, first]).get('retention')).toMatchObject({ file: first.path, value: { enabled: true } })
  })
})

describe('a setting', () => {
  const carriedOver: [string, unknown][] = [
    ['max_upload_size', '50M'],
    ['rc_message', { per_second: 5 }],
    ['password_config', { pepper: 'salt' }],
    ['turn_uris', ['turn:turn.test']],
    ['email', { smtp_host: 'mail.school.test', notif_from: 'a@school.test' }],
    ['url_preview_enabled', true],
    ['experimental_features', { msc3266_enabled: true }],
    ['presence', { enabled: false, presence_router: null }],
  ]
  test.each(carriedOver)('that is portable is carried over: %s', (key, value) => {
    const { ready, carried } = planOf(configured({ [key]: value }))
    expect(ready).toBe(true)
    expect(carried).toContainEqual({ kind: 'setting', name: key, origin: '/data/homeserver.yaml:2' })
  })

  const secrets = [
    'macaroon_secret_key',
    'form_secret',
    'registration_shared_secret',
    'macaroon_secret_key_path',
    'turn_shared_secret_path',
  ]
  test.each(secrets)('that is a secret of the box is carried over: %s', (key) => {
    expect(planOf(configured({ [key]: '/run/secret' })).carried).toContainEqual(expect.objectContaining({ kind: 'secret', name: key }))
  })

  const harmless: [string, unknown][] = [
    ['log_config', '/data/log.yaml'],
    ['pid_file', '/homeserver.pid'],
    ['listeners', [{ port: 8008, resources: [{ names: ['client'] }] }]],
    ['url_preview_enabled', false],
    ['modules', []],
    ['email', null],
    ['start_pushers', true],
    ['saml2_config', { enabled: false }],
    ['saml2_config', { sp_config: null, user_mapping_provider: { config: null } }],
    ['registration_requires_token', true],
    ['recaptcha_public_key', 'abc'],
    ['url_preview_ip_range_blacklist', ['10.0.0.0/8']],
    ['rc_login', { address: { per_second: 1 } }],
    ['web_client_location', 'https://chat.school.test/'],
    ['federation_domain_whitelist', []],
  ]
  test.each(harmless)('that changes nothing needs no decision: %s', (key, value) => {
    expect(planOf(configured({ [key]: value }))).toMatchObject({ ready: true, dropped: [] })
  })

  const dropped: [string, string, unknown][] = [
    ['bridges', 'app_service_config_files', ['/data/bridge.yaml']],
    ['metrics', 'listeners', [{ port: 9000, type: 'metrics' }]],
    ['mail', 'email', { smtp_host: 'mail' }],
    ['sso', 'oidc_providers', [{ idp_id: 'x' }]],
    ['registration', 'enable_registration', true],
    ['experiments', 'experimental_features', { msc3266_enabled: true, msc4108: { url: 'x' } }],
    ['mail', 'email', { smtp_host: 'mail.school.test', template_dir: '/templates' }],
    ['storage-provider', 'media_storage_providers', [{ module: 's3' }]],
    ['some_new_setting', 'some_new_setting', false],
    ['password_config', 'password_config', { pepper: 'salt', other: 1 }],
  ]
  test.each(dropped)('blocks until it is dropped by name: %s by %s', (name, key, value) => {
    const evidence = configured({ [key]: value })
    const blocked = planOf(evidence)
    expect(blocked.ready).toBe(false)
    expect(blocked.blockers).toEqual([
      expect.stringMatching(new RegExp(`^${name} .*${key} in /data/homeserver.yaml:2.* fix: --drop ${name}$`)),
    ])
    expect(planOf(evidence, [name])).toMatchObject({ ready: true, dropped: [{ name, accepted: true }] })
  })

  const unusedOnes: [string, unknown, RegExp][] = [
    ['some_old_setting', true, /^The chat server does not know some_old_setting in \/data\/homeserver\.yaml:2/],
    ['send_federation', false, /^No member of another server .* send_federation in/],
    ['listeners', [{ port: 8008, resources: [{ names: ['client', 'federation'] }] }], /^No member of another server .* listeners in/],
    ['redis', { enabled: true }, /^No worker runs, .* redis in/],
    ['start_pushers', false, /^No worker runs, .* start_pushers in/],
  ]
  test.each(unusedOnes)('that nobody would notice is named and needs no decision: %s', (key, value, warning) => {
    const { chat } = configured({ [key]: value })
    const { ready, dropped, warnings } = planOf({ chat: { ...chat, unread: ['some_old_setting'] } })
    expect([ready, dropped, warnings]).toEqual([true, [], [expect.stringMatching(warning)]])
  })

  test('that is of federation or of workers blocks where these are in use', () => {
    const { chat } = configured({ redis: { enabled: true }, listeners: [{ resources: [{ names: ['federation'] }] }] })
    const { dropped } = planOf({ chat: { ...chat, workers: ['linden-worker-1'] }, database: aDatabase({ remoteMembers: 1 }) })
    expect(dropped).toMatchObject([
      { name: 'workers', origins: ['redis in /data/homeserver.yaml:2', 'container linden-worker-1'] },
      { name: 'federation', origins: ['listeners in /data/homeserver.yaml:3', '1 member from other servers'] },
    ])
  })

  test('with its own switch off needs no decision; with it on it does', () => {
    const captcha = { enable_registration: true, enable_registration_captcha: false, recaptcha_public_key: 'abc' }
    expect(planOf(configured(captcha)).dropped).toMatchObject([
      { name: 'registration', origins: ['enable_registration in /data/homeserver.yaml:2'] },
    ])
    expect(planOf(configured({ ...captcha, enable_registration_captcha: true })).dropped[0]?.origins).toHaveLength(3)
  })

  const blocking: [string, unknown][] = [
    ['password_config', { enabled: false }],
    ['password_config', { localdb_enabled: false }],
    ['matrix_authentication_service', { enabled: true }],
    ['experimental_features', { msc3861: { enabled: true } }],
  ]
  test.each(blocking)('that no box can have cannot be dropped: %s', (key, value) => {
    const { blockers } = planOf(configured({ [key]: value }), [key])
    expect(blockers[0]).toMatch(new RegExp(`^${key} in /data/homeserver.yaml:2: .* fix: `))
  })
})

const cases: [string, Partial<ImportEvidence>, RegExp][] = [
  ['no chat server', { chat: { failure: 'No chat server runs' } }, /^No chat server runs$/],
  ['no database', { database: { failure: 'No PostgreSQL' } }, /^No PostgreSQL$/],
  ['a name that its key API denies', { chat: aChat({ keyApiName: 'other.test' }) }, /but other\.test by its key API/],
  ['accounts of another name', { database: aDatabase({ accountDomains: ['linden.test', 'old.test'] }) }, /but old\.test by accounts/],
  ['a name that is not registered', configuredAs('elm.test'), /registered for linden\.test\. fix: adopt the stack with --domain elm\.test/],
  ['a chat server that does not answer', { chat: aChat({ clientApiAnswers: false }) }, /does not answer/],
  [
    'a signing key that is not found',
    { chat: aChat({ signingKeyId: null }) },
    /does not have the signing key .* fix: set signing_key_path/,
  ],
  ['a newer chat server', { chat: aChat({ version: '1.170.0' }) }, /runs Synapse 1\.170\.0; the manifest has 1\.163\.2/],
  ['a newer PostgreSQL', { database: aDatabase({ version: '17.2' }) }, /runs PostgreSQL 17\.2; the manifest has 16\.14/],
  ['an encoding that is not UTF8', { database: aDatabase({ encoding: 'SQL_ASCII' }) }, /has the encoding SQL_ASCII/],
  ['a database without tables', { database: aDatabase({ missingTables: ['events'], schemaVersion: null }) }, /not one of Synapse: events/],
  [
    'SQLite',
    { ...configured({ database: { name: 'sqlite3' } }), database: { failure: 'The database is in no container' }, media: { failure: '' } },
    /uses SQLite\. fix: port it/,
  ],
  [
    'a file that was edited since the start',
    { chat: aChat({ config: [aConfigFile({ server_name: 'linden.test' }, { changedAt: '2026-02-01T00:05:00+00:00' })] }) },
    /was changed after the chat server started.* fix: restart the chat server/,
  ],
  ['too little space', { freeBytes: 1_000_000 }, /needs 705 MB on the disk of the volumes; 1 MB are free/],
  [
    'missing media',
    { media: someMedia({ missing: ['local_content/ab/cd/e'] }) },
    /^missing-media \(local_content\/ab\/cd\/e\).* fix: --drop missing-media$/,
  ],
  ['members of other servers', { database: aDatabase({ remoteMembers: 2 }) }, /^federation \(2 members from other servers\)/],
  ['a bridge that owns accounts', { database: aDatabase({ appservices: ['irc'] }) }, /^bridges \(accounts of irc\)/],
  [
    'another program in the database',
    { database: aDatabase({ otherClients: ['linden-worker-1'] }) },
    /^other-clients \(linden-worker-1 connected/,
  ],
  [
    'a worker in the same container',
    { chat: aChat({ apps: ['synapse.app.homeserver', 'synapse.app.generic_worker'] }) },
    /^workers \(a process/,
  ],
  [
    'a role that may not read all',
    { database: aDatabase({ unreadable: ['events'] }) },
    /^The role postgres .* may not read events, .* fix: .*grant pg_read_all_data/,
  ],
  [
    'an extension',
    { database: aDatabase({ extensions: ['pg_trgm'] }) },
    /^extensions \(pg_trgm in database synapse\).* fix: --drop extensions$/,
  ],
  ['an image for another processor', { imageFaults: ['r/synapse:1 is for linux/arm64'] }, /^r\/synapse:1 is for linux\/arm64$/],
  ['another container', { otherContainers: ['linden-irc-1'] }, /^linden-irc-1 \(a container of the stack\)/],
]

function configuredAs(name: string): Partial<ImportEvidence> {
  return {
    chat: aChat({ keyApiName: name, config: [aConfigFile({ server_name: name })] }),
    database: aDatabase({ accountDomains: [name] }),
  }
}

test.each(cases)('is blocked by %s', (_, evidence, blocker) => {
  const { ready, blockers } = planOf(evidence)
  expect(ready).toBe(false)
  expect(blockers).toEqual([expect.stringMatching(blocker)])
})

test('objects that use an extension, and an extension that a dump cannot leave out, block whatever is dropped', () => {
  const uses = { extensions: ['pg_trgm'], extensionUses: ['index own_search uses the extension pg_trgm'] }
  expect(planOf({ database: aDatabase(uses) }, ['extensions']).blockers).toEqual([
    expect.stringMatching(/^index own_search .* fix: drop that object/),
  ])
  const old = aDatabase({ extensions: ['pg_trgm'], version: '13.9' })
  expect(planOf({ database: old }, ['extensions']).blockers).toEqual([
    expect.stringMatching(/^PostgreSQL 13\.9 cannot leave out extensions/),
  ])
})

test('further signing keys are carried over as old ones, and the plan says so', () => {
  const { ready, carried, warnings } = planOf({ chat: aChat({ otherSigningKeyIds: ['ed25519:b'] }) })
  expect(ready).toBe(true)
  expect(carried).toContainEqual({ kind: 'secret', name: 'old signing key', origin: 'ed25519:b' })
  expect(warnings).toEqual([expect.stringMatching(/^The box signs with ed25519:a_hand.*ed25519:b/)])
})

test('data outside a named volume are imported, and the plan says what would lose them', () => {
  const place = { dataFolder: '/var/lib/postgresql/18/docker', dataMount: 'anonymous' as const }
  const { ready, warnings } = planOf({ database: aDatabase({ ...place, version: '16.4' }) })
  expect([ready, warnings]).toEqual([true, [expect.stringMatching(/18\/docker .* in an anonymous volume.*docker compose down/)]])
})

test('databases of other programs in the same server are named: they stay there', () => {
  const { ready, warnings } = planOf({ database: aDatabase({ otherDatabases: ['irc', 'wiki'] }) })
  expect([ready, warnings]).toEqual([
    true,
    [expect.stringMatching(/also has the databases irc, wiki: they are not imported, and it continues to run/)],
  ])
})

test('what the platform itself put into a box that was completed in place needs no decision', () => {
  const evidence = {
    ...configured({ app_service_config_files: ['/data/tenantry-appservice.yaml'] }),
    database: aDatabase({ appservices: ['tenantry'] }),
  }
  expect(planOf(evidence)).toMatchObject({ ready: true, dropped: [] })
})

test('a file that the entrypoint wrote just before the start is no edit', () => {
  const written = aConfigFile({ server_name: 'linden.test' }, { changedAt: '2026-02-01T00:00:20+00:00' })
  expect(planOf({ chat: aChat({ config: [written] }) }).ready).toBe(true)
})

test('a name to drop that nothing has is refused: it may be a typing error', () => {
  expect(planOf({}, ['mial']).blockers).toEqual(['--drop mial names nothing that would be left out. fix: remove it'])
})

test('media that cannot be linked need their space', () => {
  const linked = planOf({}).space
  expect(planOf({ media: someMedia({ isLinkable: false }) }).space).toEqual({
    ...linked,
    mediaIsLinked: false,
    neededBytes: linked.neededBytes + 1_000_000,
  })
})

test('downtime hardly grows with a database whose files are copied, and does with one that is dumped', () => {
  const planned = (change: Partial<DatabaseEvidence>) => planOf({ database: aDatabase(change) })
  const bytes = 1_000_000_000
  expect(planned({}).databaseCopy).toEqual({ mode: 'hot' })
  expect(planned({ bytes }).downtimeMs).toBeLessThan(planned({}).downtimeMs + 15_000)
  const dumped = { hotCopy: null }
  expect(planned({ ...dumped, bytes }).downtimeMs).toBeGreaterThan(planned(dumped).downtimeMs + 100_000)
})

const dumped: [string, Partial<DatabaseEvidence>, RegExp][] = [
  ['another major version', { version: '15.9' }, /the stack runs PostgreSQL 15\.9, the box 16/],
  ['no superuser', { hotCopy: aHotCopy({ isSuperuser: false }) }, /no superuser/],
  ['a minimal log', { hotCopy: aHotCopy({ walLevel: 'minimal' }) }, /wal_level/],
  ['a tablespace', { hotCopy: aHotCopy({ tablespaces: 1 }) }, /1 tablespace/],
  ['data in the layer of the container', { dataMount: 'none' }, /in no volume/],
  ['another collation', { locale: 'en_US.utf8 and en_US.utf8' }, /sorts by en_US\.utf8 and en_US\.utf8, a box by C/],
  ['the name of a database of every server', { name: 'postgres' }, /has the name postgres/],
  ['another database', { otherDatabases: ['wiki'] }, /other databases \(wiki\)/],
  ['another client', { otherClients: ['bot'] }, /other clients \(bot\)/],
  ['another schema', { otherSchemas: ['stats'] }, /1 other schema/],
  ['an extension', { extensions: ['pg_trgm'] }, /extensions \(pg_trgm\)/],
  ['an event trigger', { ownObjects: ['event trigger audit'] }, /also has event trigger audit/],
]
test.each(dumped)('a server with %s is dumped, and the plan says why', (_, change, reason) => {
  expect(planOf({ database: aDatabase(change) }).databaseCopy).toEqual({ mode: 'dump', reason: expect.stringMatching(reason) })
})
