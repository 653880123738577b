import '../headed.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from '../kit/index.ts'
import { App } from './app.tsx'
import { firstWords } from './words.tsx'

applyTheme()

void firstWords().then((first) =>
  createRoot(document.getElementById('root') as HTMLElement).render(
    <StrictMode>
      <App first={first} />
    </StrictMode>,
  ),
)
