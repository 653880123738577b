import { describe, expect, test } from 'vitest'
import { networkDifferencesOf } from '../../../src/agent/boxes/network-differences.ts'
import type { ProjectNetwork } from '../../../src/agent/ports/index.ts'
import { sha256Hex } from '../../../src/core/kit/index.ts'
import { aWorld } from '../update/an-update.ts'

const name = 'box-oak_inner'

/** As an engine reports a network to which the file said nothing. */
const plain = {
  ...{ driver: 'bridge', driver_opts: {}, internal: false, attachable: false, enable_ipv6: false, labels: {} },
  ipam: { driver: 'default', options: null, config: [{ subnet: '172.19.0.0/16', gateway: '172.19.0.1' }] },
}

type Case = Readonly<{ runs?: Partial<ProjectNetwork>; settings?: object; written?: object; installed?: string }>

const differences = ({ runs = {}, settings = {}, written = {}, installed = '2.26.1-4' }: Case) => {
  const network = { name, configHash: null, composeVersion: '2.26.1', settings: { ...plain, ...settings }, ...runs }
  return networkDifferencesOf([network], { networks: { inner: { name, ipam: {}, ...written } } }, { file: 'compose.yaml', installed })
}

describe('a network', () => {
  const pools = { config: [{ subnet: 'fd00::/64' }, { subnet: '172.19.0.0/16', gateway: '172.19.0.1' }] }
  const equal: readonly (readonly [string, Case])[] = [
    ['without settings', {}],
    ['with the defaults in the file', { written: { driver: 'bridge', internal: false, attachable: false, enable_ipv6: false } }],
    ['with options, addresses and IPv6 of the engine', { settings: { driver_opts: { mtu: '1400' }, enable_ipv6: true } }],
    [
      'with equal pools in another order and spelling',
      {
        settings: { ipam: { ...pools, driver: 'default' } },
        written: {
          ipam: {
            driver: 'default',
            config: [{ subnet: '172.19.0.0/16' }, { subnet: 'FD00:0::0/64' }],
          },
        },
      },
    ],
    [
      'with a dollar sign in a label, which compose prints twice',
      { settings: { labels: { cost: '$5' } }, written: { labels: { cost: '$$5' } } },
    ],
    ['that is external', { written: { external: true, internal: true } }],
  ]
  test.each(equal)('%s has no difference', (_, change) => expect(differences(change)).toEqual([]))

  const differing: readonly (readonly [string, Case, string])[] = [
    ['internal', { written: { internal: true } }, 'internal false, but compose.yaml has internal true'],
    ['no longer internal', { settings: { internal: true } }, 'internal true, but compose.yaml has internal false'],
    ['attachable', { written: { attachable: true } }, 'attachable false, but compose.yaml has attachable true'],
    ['of another driver', { written: { driver: 'macvlan' } }, 'driver bridge, but compose.yaml has driver macvlan'],
    ['with IPv6', { written: { enable_ipv6: true } }, 'enable_ipv6 false, but compose.yaml has enable_ipv6 true'],
    ['with an option', { written: { driver_opts: { mtu: '9000' } } }, 'driver_opts.mtu unset, but compose.yaml has driver_opts.mtu 9000'],
    ['with a label', { written: { labels: { who: 'me' } } }, 'labels.who unset, but compose.yaml has labels.who me'],
    ['without its label', { settings: { labels: { who: 'me' } } }, 'labels.who me, but compose.yaml has labels.who unset'],
    [
      'without the address range of its subnet',
      {
        settings: { ipam: { config: [{ subnet: '10.9.0.0/24', ip_range: '10.9.0.128/25' }] } },
        written: { ipam: { config: [{ subnet: '10.9.0.0/24' }] } },
      },
      'ipam.subnet 10.9.0.0/24 ip_range 10.9.0.128/25, but compose.yaml has ipam.subnet 10.9.0.0/24 ip_range unset',
    ],
    [
      'without the reserved address of its subnet',
      { settings: { ipam: { config: [{ subnet: '10.9.0.0/24', aux_addresses: { router: '10.9.0.5' } }] } } },
      'ipam.subnet 10.9.0.0/24 aux_addresses.router 10.9.0.5, but compose.yaml has ipam.subnet 10.9.0.0/24 aux_addresses.router unset',
    ],
    [
      'without its address option',
      { settings: { ipam: { options: { foo: 'bar' } } } },
      'ipam.options.foo bar, but compose.yaml has ipam.options.foo unset',
    ],
    [
      'with another subnet',
      { written: { ipam: { config: [{ subnet: '10.9.0.0/24' }] } } },
      'ipam.subnet 10.9.0.0/24 unset, but compose.yaml has ipam.subnet 10.9.0.0/24 set',
    ],
    [
      'with another gateway',
      { written: { ipam: { config: [{ subnet: '172.19.0.0/16', gateway: '172.19.0.2' }] } } },
      'ipam.subnet 172.19.0.0/16 gateway 172.19.0.1, but compose.yaml has ipam.subnet 172.19.0.0/16 gateway 172.19.0.2',
    ],
    [
      'with two edits',
      { written: { internal: true, labels: { who: 'me' } } },
      'internal false, labels.who unset, but compose.yaml has internal true, labels.who me',
    ],
  ]
  test.each(differing)('that the file makes %s is named with both sides', (_, change, text) =>
    expect(differences(change)).toEqual([{ network: name, text: `network ${name} has ${text}`, isOtherCompose: false }]),
  )
})

describe('a network with a config hash', () => {
  const written = { internal: true, labels: { who: 'me' } }
  /** Recorded by compose 2.40.3. */
  const configHash = 'e1a6ec625ea00f03871ebdd616a24f4b6af4cc68a3cebfbe3a4c9b8a29517eff'
  const same = { settings: { internal: true, labels: { who: 'me' } }, written }

  test('that the file has too is unchanged', () => {
    expect(differences({ written, runs: { configHash, composeVersion: '2.40.3' }, installed: '2.41.0' })).toEqual([])
  })

  test('with signs that Go escapes is unchanged', () => {
    const hash = sha256Hex(`{"name":"${name}","ipam":{},"labels":{"rule":"a \\u003c b \\u0026 c"}}`)
    expect(differences({ written: { labels: { rule: 'a < b & c' } }, runs: { configHash: hash } })).toEqual([])
  })

  test('that only another compose version explains is no difference of settings', () => {
    const runs = { configHash: 'by 2.32.1', composeVersion: '2.32.1' }
    expect(differences({ ...same, runs, installed: '2.40.0-desktop.1' })).toMatchObject([{ network: name, isOtherCompose: true }])
    expect(differences({ ...same, written: { internal: true }, runs, installed: '2.40.0' })).toMatchObject([{ isOtherCompose: false }])
  })

  test('of the installed version with another hash was edited, even where its settings cannot show it', () => {
    const runs = { configHash: 'of the file with an option', composeVersion: '2.40.0' }
    expect(differences({ settings: { driver_opts: { mtu: '1400' } }, runs, installed: '2.40.0-1' })).toEqual([
      { network: name, text: `network ${name} was created with other settings than compose.yaml has`, isOtherCompose: false },
    ])
  })
})

describe('an update of a box', () => {
  const isolate = (text: string) => `${text}\nnetworks: { default: { internal: true } }\n`

  test('is refused while its network was edited but not created again', async () => {
    const world = await aWorld()
    await world.edit(isolate)
    expect(await world.run()).toMatchObject({
      outcome: 'failed',
      error: {
        code: 'PREFLIGHT_REFUSED',
        message: expect.stringMatching(
          /network \S+_default has internal false, but compose\.yaml has internal true.* fix: write what runs/,
        ),
      },
    })
  })
})
