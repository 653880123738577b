import { boxCommands, planImport } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { assertAllowedImage, boxOfCommand, type LocalBoxes } from '../boxes/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { type SurveyDeps, surveyStack } from './survey.ts'

const kind = 'tenant-box.survey_import'

type Deps = SurveyDeps & Readonly<{ boxes: LocalBoxes; settings: Readonly<{ allowedImages: readonly string[] }> }>

/** Plans the import of a foreign stack. Changes nothing; the evidence, which has secrets, stays on this host. */
export const surveyImport =
  (deps: Deps): CommandExecutor<typeof kind> =>
  async ({ signal }, input) => {
    const payload = boxCommands[kind].payload.parse(input)
    const box = await boxOfCommand(deps.boxes, payload)
    const [{ evidence }, imageFaults] = await Promise.all([
      surveyStack(deps, box, signal),
      faultsOf(deps, Object.values(payload.images ?? {}), signal),
    ])
    return { plan: planImport({ evidence: { ...evidence, imageFaults }, ...payload }) }
  }

/** Why this host cannot run the images of the box, or not get them now. */
async function faultsOf({ engine, settings }: Deps, images: readonly string[], signal: AbortSignal): Promise<string[]> {
  const faults = await Promise.all(
    [...new Set(images)].map(async (image) => {
      try {
        assertAllowedImage(settings.allowedImages, image)
        return await engine.misfit(image, { signal })
      } catch (error) {
        signal.throwIfAborted()
        if (!isProblem(error)) throw error
        return error.message
      }
    }),
  )
  return faults.filter((fault) => fault !== undefined)
}
