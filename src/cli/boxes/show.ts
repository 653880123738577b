import { command } from '../kit/index.ts'
import { boxView } from './boxes.view.ts'

export const show = command(
  'show <slug>',
  'All that is known about a box',
  {},
  ({ api }, { slug }) => api.boxes.showBox({ params: { slug } }),
  boxView,
)
