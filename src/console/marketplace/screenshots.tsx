import type { Screenshot } from '../../core/marketplace/index.ts'
import { api, Picture } from '../kit/index.ts'
import { words } from './words.ts'

export const Screenshots = ({ all }: Readonly<{ all: readonly Screenshot[] }>) => (
  <div className="screenshots">
    {all.map(({ id, width, height }) => (
      <Picture
        key={id}
        {...{ id, width, height }}
        alt={words.screenshotOf(width, height)}
        read={() => api.marketplace.readReviewScreenshot({ params: { id } })}
      />
    ))}
  </div>
)
