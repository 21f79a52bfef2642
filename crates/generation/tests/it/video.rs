//! Families and protocols of video, tested by folders of cases: one file, one request, one outcome.

mod answers;
mod ark_protocol;
mod cases;
mod dashscope_protocol;
mod folders;
mod happyhorse;
mod kling;
mod kling_protocol;
mod minimax;
mod openai;
mod price;
mod random;
mod seedance;
mod walk;
mod wan;
