import { isoNow, newId, type PlatformPrincipal } from '../../core/kit/index.ts'
import type { Space, SpaceId, SpaceType, SpaceVisibility } from '../../core/spaces/index.ts'
import { recordAudit } from '../audit/index.ts'
import { tellJoined } from './add-member.ts'
import type { SpacesDeps } from './deps.ts'
import { followInChat, soonInChat } from './follow-in-chat.ts'
import { insertMember } from './members.repo.ts'
import { recordInSpace, whoFinds } from './record-in-space.ts'
import { spaceView } from './show-spaces.ts'
import { insertSpace, type SpaceRecord, spaceRecord } from './spaces.repo.ts'

type Wanted = Readonly<{ name: string; type: SpaceType; visibility: SpaceVisibility }>

/** How long an answer waits for the chat server. */
const waitMs = 5000

/**
 * Makes a space with its maker as owner. It stands once this commits; its rooms follow as soon as the chat server takes writes, which the
 * answer waits for a little.
 */
export async function createSpace(deps: SpacesDeps, actor: PlatformPrincipal, { name, type, visibility }: Wanted): Promise<Space> {
  const { db, clock, random } = deps
  const { userId, tenantId, tenantSlug } = actor
  const at = isoNow(clock)
  const made: SpaceRecord = {
    ...{ id: newId<SpaceId>(random, 'spc'), tenantId, name, type, visibility, revision: 1, chatRevision: 0 },
    ...{ spaceRoomId: null, roomId: null, createdBy: userId, createdAt: at, updatedAt: at, deletedAt: null },
  }
  await db.transaction().execute(async (tx) => {
    await insertSpace(tx, made)
    await followInChat(tx, clock, made)
    // Before the first event, which holds the tenant's counter: who is disabled just now has its row held, and that waits for the counter.
    await insertMember(tx, { spaceId: made.id, userId, tenantId, role: 'owner', joinedAt: at })
    const payload = { spaceId: made.id, name }
    await recordInSpace(tx, clock, { space: made, type: 'space.created', payload, actorId: userId, audience: whoFinds(made) })
    await tellJoined(tx, clock, { space: made, userId, actorId: userId })
    await recordAudit(tx, clock, {
      actor,
      action: 'space.created',
      subject: tenantSlug,
      data: { spaceId: made.id, name, type, visibility },
    })
  })
  await soonInChat(deps, made.id, waitMs)
  return spaceView((await spaceRecord(db, made.id)) ?? made, 'owner')
}
