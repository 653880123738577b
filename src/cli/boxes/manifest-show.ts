import { command } from '../kit/index.ts'
import { manifestView } from './manifest.view.ts'

export const show = command(
  'show',
  'The canonical versions per tier, and the images',
  {},
  ({ api }) => api.boxes.showManifest(),
  manifestView,
)
