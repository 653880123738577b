import { join } from 'node:path'
import { parse } from 'yaml'
import { problem, randomText, type Secret } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import { readBoxSecrets } from '../boxes/index.ts'
import type { LocalBox, ProbeAccount } from '../ports/index.ts'
import { chatState } from './servers.ts'
import type { World } from './world.ts'

/** The same user and room each time, as the chat server finds them again. */
export async function simulatedAccount(world: World, box: LocalBox, token: Secret): Promise<ProbeAccount> {
  const what = 'the probe user'
  needChat(world, box, what)
  needKnown(box, (await readBoxSecrets(box.project))?.appserviceToken, token, what)
  return { userId: `@tenantry-probe:${box.chatDomain}`, accessToken: token.reveal(), roomId: `!probe:${box.chatDomain}` }
}

/** Another user and room each time. */
export async function simulatedThrowAway(world: World, box: LocalBox, registration: Secret): Promise<ProbeAccount> {
  const what = 'a throw-away user'
  needChat(world, box, what)
  const config = await configOf(box)
  if (Array.isArray(config.app_service_config_files) && config.app_service_config_files.length > 0)
    throw notMade(box, what, 'its application service owns such names')
  const { registration_shared_secret: said } = config
  needKnown(box, typeof said === 'string' ? said : (await readBoxSecrets(box.project))?.registrationSharedSecret, registration, what)
  const name = randomText(world.random, 10).toLowerCase()
  return { userId: `@tenantry-drill-${name}:${box.chatDomain}`, accessToken: `throw-away-${name}`, roomId: `!${name}:${box.chatDomain}` }
}

function needChat(world: World, box: LocalBox, what: string): void {
  if (chatState(world, box.project.name) !== 'ready') throw notMade(box, what, 'the chat server does not answer')
}

/** As the server was told; empty for a box that has no such file. */
async function configOf({ project }: LocalBox): Promise<Record<string, unknown>> {
  return parse((await readIfThere(join(project.folder, 'synapse', 'homeserver.yaml'))) ?? '') ?? {}
}

/** A box without files of ours takes any: nobody here knows what its server was told. */
function needKnown(box: LocalBox, known: string | undefined, given: Secret, what: string): void {
  if (known !== undefined && known !== given.reveal()) throw notMade(box, what, 'the chat server does not know who asks')
}

const notMade = (box: LocalBox, what: string, why: string) => problem('PROBE_FAILED', `${what} of ${box.slug} could not be made: ${why}`)
