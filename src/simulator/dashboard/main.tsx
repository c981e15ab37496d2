// Puts the page on the screen.
import { render } from 'preact';
import { Page } from './page.js';

render(<Page />, document.body);
